import { spyOn } from "bun:test";

/** Counts instead of timing: how many bytes are copied by `set`, and how many `indexOf` has to look at. Until `mock.restore`. */
export function countByteWork(): { readonly copiedBytes: number; readonly searchedBytes: number } {
  const counted = { copiedBytes: 0, searchedBytes: 0 };
  const set = Reflect.get(Uint8Array.prototype, "set");
  const indexOf = Reflect.get(Uint8Array.prototype, "indexOf");
  spyOn(Uint8Array.prototype, "set").mockImplementation(function count(this: Uint8Array, source, offset) {
    counted.copiedBytes += source.length;
    Reflect.apply(set, this, [source, offset]);
  });
  spyOn(Uint8Array.prototype, "indexOf").mockImplementation(function count(this: Uint8Array, byte, from = 0) {
    const found: number = Reflect.apply(indexOf, this, [byte, from]);
    counted.searchedBytes += (found === -1 ? this.length : found + 1) - from;
    return found;
  });
  return counted;
}
