import { Turns } from "#kernel/turns.ts";
import { JsonScan, type ScannedText } from "./json-scan.ts";

/** A text up to this is scanned at once: 5 ms where it is nothing but short keys (measured). */
export const SCANNED_AT_ONCE_BYTES_MAX = 256 * 1024;

/** The time for which one text is scanned before others have their turn. */
const SLICE_MS_MAX = 4;
/** After so many bytes the clock is looked at: 1 ms of short keys. */
const STEP_BYTES = 64 * 1024;

/** All large texts share a slice of each turn. */
const turns = new Turns(1);

/** A text that is scanned in parts. */
interface Scan<Scanned> {
  /** The offset that the scan has reached. */
  readonly at: number;
  /** Goes on up to `untilAt`, or a little further; null until the whole text is scanned. */
  run(untilAt: number): Scanned | null;
}

/** Scans a text of any length and lets others have their turn: 60 MB of short keys take 0.6 s and more. */
export async function scanInTurns<Scanned>(scan: Scan<Scanned>, sliceMsMax = SLICE_MS_MAX): Promise<Scanned> {
  for (;;) {
    const untilMs = performance.now() + sliceMsMax;
    do {
      const scanned = scan.run(scan.at + STEP_BYTES);
      if (scanned !== null) return scanned;
    } while (performance.now() < untilMs);
    await turns.next();
  }
}

/** `scanJson` of a large text. */
export async function scanJsonInTurns(
  text: Uint8Array,
  names: readonly string[],
  sliceMsMax = SLICE_MS_MAX,
): Promise<ScannedText> {
  return scanInTurns(new JsonScan(text, names), sliceMsMax);
}
