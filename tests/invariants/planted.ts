import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Texts that must not be found, by their names. In small letters, so that nothing that folds case hides it. */
export class Planted {
  readonly values = new Map<string, string>();

  /** A word that stands nowhere else, or the value that is given. */
  plant(
    what: string,
    value = `zq${Buffer.from(crypto.getRandomValues(new Uint8Array(9))).toString("hex")}qz`,
  ) {
    this.values.set(what, value);
    return value;
  }

  /** What of it stands in these bytes. */
  findIn(bytes: Buffer): readonly string[] {
    return [...this.values].filter(([, value]) => isIn(bytes, value)).map(([what]) => what);
  }
}

/** Every file of a folder, by its path in there. */
export function readFiles(folder: string): Map<string, Buffer> {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(files.map((path) => [path.slice(folder.length + 1), readFileSync(path)]));
}

/** As it is, and in the forms that a careless writer would give it. */
export function isIn(bytes: Buffer, value: string): boolean {
  const forms = [
    value,
    Buffer.from(value).toString("base64").replace(/=+$/, ""),
    Buffer.from(value).toString("hex"),
  ];
  return (
    forms.some((form) => bytes.includes(form)) ||
    bytes.includes(Buffer.from(value, "utf16le")) ||
    bytes.includes(Buffer.from(value).subarray(0, 24).toString("base64").slice(0, -4))
  );
}
