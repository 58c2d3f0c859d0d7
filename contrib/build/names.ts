import { sha256Hex } from "../../src/kernel/crypto.ts";

/** Hexadecimal digits of a SHA-256: 64 bits tell the versions of one file apart. */
const HASH_LENGTH = 16;
/** `/assets/main-0b4wdb2t.js`, as Bun names its outputs, or as they are named here. */
const HASHED_NAME = /-([0-9a-z]{8}|[0-9a-f]{16})(\.[a-z0-9]+)$/;

export interface NamedFile {
  readonly path: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

export function toHash(content: Uint8Array<ArrayBuffer> | string): string {
  return sha256Hex(content).slice(0, HASH_LENGTH);
}

/**
 * The files of one build under names that follow from what is in them. Bun's own hashes are another's in each folder, and
 * stand in the code as well: `import("/assets/a-rsdcyzhg.js")`, `preload("rsdcyzhg")`. Since files name each other in
 * circles, a hash is taken in rounds: of the file without the hashes in it, then of that and the hashes of those that it
 * names, in their order, and so on, until whatever can be reached from a file has told in its hash. Returns old path → file.
 */
export function renameByContent<File extends NamedFile>(files: readonly File[]): ReadonlyMap<string, File> {
  const oldHashes = files.map(({ path }) => getHash(path));
  const mention = new RegExp(`(?<=["'\`-])(?:${oldHashes.join("|")})(?=["'\`.])`, "g");
  const texts = files.map(({ path, bytes }) =>
    path.endsWith(".js") ? new TextDecoder().decode(bytes) : null,
  );
  const mentioned = texts.map((text) => text?.match(mention) ?? []);
  const contents = files.map(({ bytes }, index) => toHash(texts[index]?.replaceAll(mention, "") ?? bytes));

  const toHashes = (hashOf: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
    new Map(
      oldHashes.map((old, index) => {
        const behind = (mentioned[index] ?? []).map((hash) => hashOf.get(hash) ?? "");
        return [old, toHash([contents[index], ...behind].join(" "))];
      }),
    );
  let hashes: ReadonlyMap<string, string> = new Map();
  for (let round = 0; round <= files.length; round += 1) hashes = toHashes(hashes);

  const renamed = new Map<string, File>();
  for (const [index, file] of files.entries()) {
    const path = file.path.replace(HASHED_NAME, `-${hashes.get(getHash(file.path))}$2`);
    const text = texts[index]?.replaceAll(mention, (old) => hashes.get(old) ?? old);
    renamed.set(file.path, { ...file, path, bytes: encode(text) ?? file.bytes });
  }
  if (new Set([...renamed.values()].map(({ path }) => path)).size < files.length) {
    throw new Error("two files of the page have one name");
  }
  return renamed;
}

function getHash(path: string): string {
  const hash = HASHED_NAME.exec(path)?.[1];
  if (hash === undefined) throw new Error(`${path} has no hash in its name`);
  return hash;
}

function encode(text: string | undefined): Uint8Array<ArrayBuffer> | undefined {
  return text === undefined ? undefined : new TextEncoder().encode(text);
}
