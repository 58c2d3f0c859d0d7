import type { EncodedFile } from "./file.ts";

/** Budget of all files that the first page fetches, compressed by gzip: 0.2 s at 8 Mbit/s. */
export const FIRST_LOAD_BYTES_MAX = 200_000;

export interface Weighed {
  readonly path: string;
  readonly isFirstLoad: boolean;
  readonly gzipBytes: number;
}

/** Throws when the first load is larger than `bytesMax`, and names its files, the largest first. Returns its size. */
export function checkBudget(files: readonly Weighed[], bytesMax: number = FIRST_LOAD_BYTES_MAX): number {
  const first = files.filter(({ isFirstLoad }) => isFirstLoad);
  const total = first.reduce((sum, { gzipBytes }) => sum + gzipBytes, 0);
  if (total <= bytesMax) return total;
  const largest = first.toSorted((one, other) => other.gzipBytes - one.gzipBytes);
  throw new Error(
    [
      `the first load of the page is ${format(total)} bytes by gzip, and may be ${format(bytesMax)}:`,
      ...largest.map(({ path, gzipBytes }) => `  ${format(gzipBytes).padStart(9)}  ${path}`),
      "Load what the first page does not need with import(), when it is used.",
    ].join("\n"),
  );
}

/** A line for each file in bytes, plain and compressed, those of the first load at the top, and what they are together. */
export function toReport(files: readonly EncodedFile[]): string {
  const ordered = files.toSorted(
    (one, other) =>
      Number(other.isFirstLoad) - Number(one.isFirstLoad) || other.bytes.byteLength - one.bytes.byteLength,
  );
  const total = checkBudget(toWeighed(files), Infinity);
  const toRow = (cells: readonly string[], name: string) =>
    `${cells.map((cell) => cell.padStart(9)).join(" ")}  ${name}`;
  return [
    toRow(["plain", "gzip", "br"], "file, in bytes"),
    ...ordered.map(({ path, isFirstLoad, encoded: { identity, gzip, br } }) =>
      toRow(
        [identity, gzip, br].map(({ byteLength }) => format(byteLength)),
        isFirstLoad ? path : `${path} (later)`,
      ),
    ),
    `first load: ${format(total)} bytes by gzip, of ${format(FIRST_LOAD_BYTES_MAX)}`,
  ].join("\n");
}

export function toWeighed(files: readonly EncodedFile[]): readonly Weighed[] {
  return files.map(({ path, isFirstLoad, encoded }) => ({
    path,
    isFirstLoad,
    gzipBytes: encoded.gzip.byteLength,
  }));
}

function format(count: number): string {
  return count.toLocaleString("en-US");
}
