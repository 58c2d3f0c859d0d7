import { UNIT_TABLE, type Unit } from "#kernel/units.ts";

const COUNT = new Intl.NumberFormat("en-US", { maximumFractionDigits: 3 });
const DECIMALS_MIN = 2;
const DECIMALS_MAX = 6;

/** `1,234,567`; nothing is a dash. */
export function toCount(value: number | undefined): string {
  return value === undefined ? "-" : COUNT.format(value);
}

/** An amount of money for reading, `$1,234.50`: two decimals, up to six where they matter. Nothing priced is a word of its own, never zero. */
export function toAmount(cost: number | null): string {
  if (cost === null) return "unpriced";
  const smallest = 10 ** -DECIMALS_MAX;
  if (cost > 0 && cost < smallest) return `<$${smallest.toFixed(DECIMALS_MAX)}`;
  const figure = cost.toLocaleString("en-US", {
    minimumFractionDigits: DECIMALS_MIN,
    maximumFractionDigits: cost < 1 ? DECIMALS_MAX : DECIMALS_MIN,
  });
  return `$${figure}`;
}

/** `$2.50`, a price per million, exact; one that a unit has not got is a word. */
export function toPrice(pricePerMillion: number | undefined, unit: Unit): string {
  if (pricePerMillion !== undefined) {
    const digits = { minimumFractionDigits: DECIMALS_MIN, maximumFractionDigits: DECIMALS_MAX };
    return `$${pricePerMillion.toLocaleString("en-US", digits)}`;
  }
  const { detailOf } = UNIT_TABLE[unit];
  return detailOf === null ? "unpriced" : `as ${detailOf}`;
}

/** `340 ms`, `2.4 s`, `3 min 20 s`. */
export function toDuration(durationMs: number): string {
  if (durationMs < 1000) return `${Math.round(durationMs)} ms`;
  const seconds = durationMs / 1000;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

/** `2026-03-11 12:00:00`, in UTC as everywhere; what is no instant stays as it is. */
export function toMoment(instant: string): string {
  const match = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})/.exec(instant);
  return match === null ? instant : `${match[1]} ${match[2]}`;
}

const SIZE_UNITS = ["kB", "MB", "GB", "TB"] as const;

/** `840 bytes`, `1.2 MB`, in steps of a thousand. */
export function toSize(sizeBytes: number): string {
  let size = sizeBytes;
  let unit: string = "bytes";
  for (const larger of SIZE_UNITS) {
    if (size < 1000) break;
    size /= 1000;
    unit = larger;
  }
  return `${unit === "bytes" ? size : size.toFixed(1)} ${unit}`;
}
