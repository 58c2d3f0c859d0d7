import type { Outcome, UsageEnding, UsageShape, UsageSubject } from "./event.ts";
import { OUTCOMES, USAGE_SHAPES } from "./event.ts";
import type { PriceSet, Quantities } from "#kernel/units.ts";
import { UNITS } from "#kernel/units.ts";

/**
 * One line of the usage journal. `run` stands first in what a process writes: whatever was open before it was cut off
 * with the process before. `sequence` ties an end to its begin within one run.
 */
export type JournalEntry =
  | { readonly kind: "run" }
  | { readonly kind: "begin"; readonly sequence: number; readonly subject: UsageSubject }
  | { readonly kind: "end"; readonly sequence: number; readonly ending: UsageEnding };

/** In the year 2255: leaves room below 2^53 for ids that count on from a shared instant. */
const ARRIVAL_US_MAX = 9e15;
/** Eleven days: nine million of them still add up to an INTEGER. */
const DURATION_US_MAX = 1e12;
const NEWLINE = 0x0a;
/** Eight hexadecimal digits of the checksum and a space. */
const CHECKSUM_BYTES = 9;

/**
 * The bytes of one line: CRC-32 of the payload in hexadecimal, a space, a JSON array, a line feed. JSON holds no line
 * feed, so a line without its end or with a wrong sum was torn.
 */
export function encodeJournalLine(entry: JournalEntry): Buffer {
  const json = JSON.stringify(toArray(entry));
  return Buffer.from(`${Bun.hash.crc32(json).toString(16).padStart(8, "0")} ${json}\n`, "utf8");
}

/** The entry of one line without its line feed, or null when the line is torn or damaged. */
export function decodeJournalLine(line: Uint8Array): JournalEntry | null {
  if (line.length <= CHECKSUM_BYTES) return null;
  const text = Buffer.from(line.buffer, line.byteOffset, line.byteLength);
  const sum = Number.parseInt(text.toString("latin1", 0, CHECKSUM_BYTES - 1), 16);
  if (Bun.hash.crc32(line.subarray(CHECKSUM_BYTES)) !== sum) return null;
  const fields: unknown = JSON.parse(text.toString("utf8", CHECKSUM_BYTES));
  return Array.isArray(fields) ? toEntry(fields) : null;
}

/** Cuts `bytes` into its complete lines; `rest` is how many bytes after the last line feed are left over. */
export function splitJournalLines(bytes: Uint8Array): {
  readonly lines: readonly Uint8Array[];
  readonly rest: number;
} {
  const lines: Uint8Array[] = [];
  let start = 0;
  for (;;) {
    const end = bytes.indexOf(NEWLINE, start);
    if (end === -1) return { lines, rest: bytes.length - start };
    lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
}

function toArray(entry: JournalEntry): readonly unknown[] {
  if (entry.kind === "run") return ["r"];
  if (entry.kind === "begin") {
    const s = entry.subject;
    // The order is the file format: append to it, never reorder.
    return [
      "b",
      entry.sequence,
      s.arrivedAtUs,
      s.principalId,
      s.principalName,
      s.keyId,
      s.relayTokenId,
      s.providerId,
      s.model,
      s.upstreamName,
      s.endpoint,
      s.client,
      s.tags,
      s.streamed,
    ];
  }
  const e = entry.ending;
  return [
    "e",
    entry.sequence,
    e.statusCode,
    e.outcome,
    e.errorKind,
    e.durationUs,
    e.timeToFirstByteUs,
    e.usage === null ? null : e.usage.shape,
    e.usage === null ? null : e.usage.quantities,
    e.usage === null ? null : e.usage.cacheCreationTokens,
    e.prices,
    e.costPico === null ? null : e.costPico.toString(),
    e.unpriced,
  ];
}

function toEntry(fields: readonly unknown[]): JournalEntry | null {
  const [mark, sequence] = fields;
  if (mark === "r") return { kind: "run" };
  if (typeof sequence !== "number") return null;
  if (mark === "b") return { kind: "begin", sequence, subject: toSubject(fields) };
  if (mark === "e") return { kind: "end", sequence, ending: toEnding(fields) };
  return null;
}

function toSubject(fields: readonly unknown[]): UsageSubject {
  const tags = fields[12];
  return {
    arrivedAtUs: Math.min(toCount(fields[2]), ARRIVAL_US_MAX),
    principalId: toText(fields[3]) ?? "",
    principalName: toText(fields[4]) ?? "",
    keyId: toText(fields[5]),
    relayTokenId: toText(fields[6]),
    providerId: toText(fields[7]) ?? "",
    model: toText(fields[8]),
    upstreamName: toText(fields[9]),
    endpoint: toText(fields[10]) ?? "",
    client: toText(fields[11]),
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [],
    streamed: fields[13] === true,
  };
}

function toEnding(fields: readonly unknown[]): UsageEnding {
  const shape = toShape(fields[7]);
  const cost = toText(fields[11]);
  return {
    statusCode: toCount(fields[2]),
    outcome: toOutcome(fields[3]),
    errorKind: toText(fields[4]),
    durationUs: toDuration(fields[5]),
    timeToFirstByteUs: fields[6] === null ? null : toDuration(fields[6]),
    usage:
      shape === null
        ? null
        : {
            shape,
            quantities: toQuantities(fields[8]),
            cacheCreationTokens: toQuantity(fields[9]),
          },
    prices: toPrices(fields[10]),
    costPico: cost !== null && /^[0-9]{1,60}$/.test(cost) ? BigInt(cost) : null,
    unpriced: fields[12] === true,
  };
}

function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** Whole and not negative: what an INTEGER column takes, whatever a caller handed in. */
function toCount(value: unknown): number {
  if (typeof value !== "number" || !(value > 0)) return 0;
  return Math.min(Math.round(value), Number.MAX_SAFE_INTEGER);
}

function toDuration(value: unknown): number {
  return Math.min(toCount(value), DURATION_US_MAX);
}

function toQuantity(value: unknown): number | null {
  return typeof value === "number" && value >= 0 ? value : null;
}

function toOutcome(value: unknown): Outcome {
  return OUTCOMES.find((outcome) => outcome === value) ?? "unreachable";
}

function toShape(value: unknown): UsageShape | null {
  return USAGE_SHAPES.find((shape) => shape === value) ?? null;
}

function toQuantities(value: unknown): Quantities {
  const quantities: { -readonly [unit in keyof Quantities]: Quantities[unit] } = {};
  for (const [unit, quantity] of toUnitEntries(value)) {
    const parsed = toQuantity(quantity);
    if (parsed !== null) quantities[unit] = parsed;
  }
  return quantities;
}

/** Also reads a price set back from its stored JSON text. */
export function toPrices(value: unknown): PriceSet {
  const prices: { -readonly [unit in keyof PriceSet]: PriceSet[unit] } = {};
  for (const [unit, price] of toUnitEntries(value)) {
    if (price === null || typeof price === "number") prices[unit] = price;
  }
  return prices;
}

/** In the order of UNITS, so that equal sets have equal texts. */
function toUnitEntries(value: unknown) {
  if (typeof value !== "object" || value === null) return [];
  const members = new Map<string, unknown>(Object.entries(value));
  return UNITS.flatMap((unit): [typeof unit, unknown][] =>
    members.has(unit) ? [[unit, members.get(unit)]] : [],
  );
}
