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

/** Rows spelled at a time: enough that calls cost nothing, few enough for memory. */
const ROWS_PER_PIECE = 256;

/**
 * Rows as the members of a JSON array, with commas between them. The runtime spells an object in a fraction of the time that
 * it takes to put its text together piece by piece.
 */
export function* toMembers<Row>(rows: readonly Row[], toView: (row: Row) => object): Generator<string> {
  for (let from = 0; from < rows.length; from += ROWS_PER_PIECE) {
    const views = rows.slice(from, from + ROWS_PER_PIECE).map(toView);
    const members = JSON.stringify(views).slice(1, -1);
    yield from === 0 ? members : `,${members}`;
  }
}

/** `make`, asked once for each of the few keys that repeat from row to row. */
export function makeOnce<Key, Made>(make: (key: Key) => Made): (key: Key) => Made {
  const made = new Map<Key, Made>();
  return (key) => {
    let found = made.get(key);
    if (found === undefined) made.set(key, (found = make(key)));
    return found;
  };
}
