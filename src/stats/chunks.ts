/** Chunks are about this long: large enough to be few, small enough to be sent while others wait. */
const CHUNK_LENGTH = 64 * 1024;

/** Text as UTF-8 in chunks of about 64 KiB; a piece is never cut in two. No chunk is empty. */
export function toChunks(pieces: Iterable<string>): readonly Uint8Array<ArrayBuffer>[] {
  const encoder = new TextEncoder();
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let text = "";
  for (const piece of pieces) {
    text += piece;
    if (text.length < CHUNK_LENGTH) continue;
    chunks.push(encoder.encode(text));
    text = "";
  }
  if (text !== "") chunks.push(encoder.encode(text));
  return chunks;
}

/** The members of a JSON array, with commas between them. */
export function* joinPieces(pieces: Iterable<string>): Generator<string> {
  let isFirst = true;
  for (const piece of pieces) {
    yield isFirst ? piece : `,${piece}`;
    isFirst = false;
  }
}

/** `toSpelled`, asked once for each of the few texts that repeat from row to row. */
export function spellOnce<Text extends string | null>(
  toSpelled: (text: Text) => string,
): (text: Text) => string {
  const known = new Map<Text, string>();
  return (text) => {
    let spelled = known.get(text);
    if (spelled === undefined) known.set(text, (spelled = toSpelled(text)));
    return spelled;
  };
}
