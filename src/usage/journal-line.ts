import {
  toArrival,
  toCount,
  toDuration,
  type ReportedUsage,
  type Settlement,
  type UsageEnding,
  type UsageShape,
  type UsageDimensions,
  type Outcome,
  OUTCOMES,
  USAGE_SHAPES,
} from "./event.ts";
import type { AppliedPrices, PriceConditions } from "#kernel/price-variants.ts";
import { type Quantities, byUnit, UNITS } from "#kernel/units.ts";
import { CONNECTION_FAILURES, type ConnectionFailure } from "#kernel/system-code.ts";

/** An ending without the prices, which repeat as well. */
export interface UsageFigures extends Omit<UsageEnding, "prices" | "costPico"> {
  /** A bigint only where a number could not say it exactly. */
  readonly costPico: number | bigint | null;
}

/** The part of an ending that repeats from request to request. */
export interface UsageManner extends Pick<
  UsageEnding,
  "statusCode" | "outcome" | "errorKind" | "failure" | "unpriced" | "tier" | "geo" | "prices"
> {
  /** Null when the upstream reported nothing. */
  readonly shape: UsageShape | null;
}

/** Where a line stands: from `start` to before `end`, the position of its line feed. */
export interface JournalLine {
  readonly bytes: Buffer;
  readonly start: number;
  readonly end: number;
}

/**
 * One line of the usage journal, spelled out; most begins and ends are plain (`plain-line.ts`). `run` stands first in what
 * a process writes: whatever was open before it was cut off with the process before. `sequence` ties an end to its begin
 * within one run. A `dimensions`, `prices` or `manner` line gives a number to what later lines of the same segment and run
 * mean by it; no number is given twice.
 */
export type JournalEntry =
  | { readonly kind: "run" }
  | { readonly kind: "dimensions"; readonly number: number; readonly dimensions: UsageDimensions }
  | { readonly kind: "prices"; readonly number: number; readonly prices: AppliedPrices }
  /** Says what has ended before it: sums that are asked for in its name count that, and nothing behind it. */
  | { readonly kind: "watermark"; readonly number: number }
  | { readonly kind: "manner"; readonly number: number; readonly manner: UsageManner }
  | {
      readonly kind: "begin";
      readonly sequence: number;
      readonly arrivedAtUs: number;
      readonly streamed: boolean;
      readonly dimensions: number | UsageDimensions;
      /** See `OpenUsage.background`. */
      readonly isBackground?: boolean | undefined;
    }
  | {
      readonly kind: "end";
      readonly sequence: number;
      readonly ending: UsageFigures;
      readonly prices: number | AppliedPrices;
    }
  | { readonly kind: "settle"; readonly settlement: Settlement };

const NEWLINE = 0x0a;
const SPACE = 0x20;
/** Eight hexadecimal digits of the checksum and a space. */
export const CHECKSUM_BYTES = 9;
/** By byte; -1 for what is no digit. */
const HEX_DIGITS = Int8Array.from({ length: 256 }, (_, byte) =>
  "0123456789abcdef".indexOf(String.fromCharCode(byte)),
);

/**
 * The text of one line: CRC-32 of the payload in hexadecimal, a space, a JSON array, a line feed. JSON holds no line
 * feed, so a line without its end or with a wrong sum was torn.
 */
export function encodeJournalLine(entry: JournalEntry): string {
  const json = JSON.stringify(toArray(entry));
  return `${Bun.hash.crc32(json).toString(16).padStart(8, "0")} ${json}\n`;
}

/** False for a line that is torn or damaged. */
export function isWhole({ bytes, start, end }: JournalLine): boolean {
  if (end - start <= CHECKSUM_BYTES) return false;
  let sum = 0;
  for (let at = start; at < start + CHECKSUM_BYTES - 1; at += 1) {
    const digit = HEX_DIGITS[bytes[at] ?? 0] ?? -1;
    if (digit < 0) return false;
    sum = (sum << 4) | digit;
  }
  if (bytes[start + CHECKSUM_BYTES - 1] !== SPACE) return false;
  return Bun.hash.crc32(bytes.subarray(start + CHECKSUM_BYTES, end)) === sum >>> 0;
}

/** The entry of a line that is whole and spelled out; null when it says nothing that is known. */
export function decodeJournalLine({ bytes, start, end }: JournalLine): JournalEntry | null {
  const fields: unknown = JSON.parse(bytes.toString("utf8", start + CHECKSUM_BYTES, end));
  return Array.isArray(fields) ? toEntry(fields) : null;
}

/** Goes through complete lines one by one: `next` stands at the first, then at the following. */
export class LineCursor implements JournalLine {
  readonly bytes: Buffer;
  start = 0;
  end = -1;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  /** False behind the last line feed. */
  next(): boolean {
    this.start = this.end + 1;
    this.end = this.bytes.indexOf(NEWLINE, this.start);
    return this.end !== -1;
  }
}

// The order of the fields is the file format: append to it, never reorder.
function toArray(entry: JournalEntry): readonly unknown[] {
  if (entry.kind === "run") return ["r"];
  if (entry.kind === "dimensions") return ["d", entry.number, ...fromDimensions(entry.dimensions)];
  if (entry.kind === "watermark") return ["k", entry.number];
  if (entry.kind === "prices") return ["p", entry.number, entry.prices];
  if (entry.kind === "manner") {
    const { statusCode, outcome, errorKind, unpriced, shape, prices } = entry.manner;
    const fields = ["m", entry.number, statusCode, outcome, errorKind, unpriced ? 1 : 0, shape, prices];
    return [...fields, ...toRareFields([entry.manner.tier, entry.manner.failure, entry.manner.geo])];
  }
  if (entry.kind === "begin") {
    const { sequence, arrivedAtUs, streamed, dimensions, isBackground = false } = entry;
    const named = typeof dimensions === "number" ? dimensions : fromDimensions(dimensions);
    const fields = ["b", sequence, arrivedAtUs, streamed ? 1 : 0, named];
    return isBackground ? [...fields, 1] : fields;
  }
  if (entry.kind === "settle") return fromSettlement(entry.settlement);
  const { ending, prices } = entry;
  // Null, never undefined: JSON.stringify takes four times as long over an array that holds one.
  const fields = [
    "e",
    entry.sequence,
    ending.statusCode,
    ending.outcome,
    ending.errorKind,
    ending.durationUs,
    ending.timeToFirstByteUs,
    prices,
    ending.costPico === null ? null : ending.costPico.toString(),
    ending.unpriced ? 1 : 0,
    ending.usage?.shape ?? null,
    ending.usage?.quantities ?? null,
  ];
  const { tier, failure, geo, costReportedPico } = ending;
  return [...fields, ...toRareFields([tier, failure, geo, costReportedPico?.toString()])];
}

/** Spelled out, since it may be kept apart from the lines around it until its event comes. */
function fromSettlement({ event, settledAtUs, ...ending }: Settlement): readonly unknown[] {
  return [
    "s",
    event.eventId,
    event.lane,
    settledAtUs,
    ending.statusCode,
    ending.outcome,
    ending.errorKind,
    ending.prices,
    ending.costPico === null ? null : ending.costPico.toString(),
    ending.unpriced ? 1 : 0,
    ending.usage?.shape ?? null,
    ending.usage?.quantities ?? null,
    ...toRareFields([ending.tier, ending.geo, ending.costReportedPico?.toString()]),
  ];
}

/** Fields that most endings lack stand last, and take no byte where neither they nor those behind them are there. */
function toRareFields(fields: readonly (string | undefined)[]): readonly (string | null)[] {
  const count = 1 + fields.findLastIndex((field) => field !== undefined);
  return fields.slice(0, count).map((field) => field ?? null);
}

function fromDimensions(d: UsageDimensions): readonly unknown[] {
  return [
    d.principalId,
    d.principalName,
    d.keyId,
    d.relayTokenId,
    d.providerId,
    d.model,
    d.upstreamName,
    d.endpoint,
    d.client,
    d.tags,
    d.fixedTags,
  ];
}

function toEntry(fields: readonly unknown[]): JournalEntry | null {
  const [mark, number] = fields;
  if (mark === "r") return { kind: "run" };
  if (typeof number !== "number") return null;
  switch (mark) {
    case "d":
      return { kind: "dimensions", number, dimensions: toDimensions(fields.slice(2)) };
    case "k":
      return { kind: "watermark", number };
    case "p":
      return { kind: "prices", number, prices: toPrices(fields[2]) };
    case "m":
      return {
        kind: "manner",
        number,
        manner: {
          statusCode: toCount(fields[2]),
          outcome: toOutcome(fields[3]),
          errorKind: toText(fields[4]),
          unpriced: fields[5] === 1,
          shape: toShape(fields[6]),
          prices: toPrices(fields[7]),
          tier: toText(fields[8]) ?? undefined,
          failure: toFailure(fields[9]),
          geo: toText(fields[10]) ?? undefined,
        },
      };
    case "b": {
      const dimensions = fields[4];
      return {
        kind: "begin",
        sequence: number,
        arrivedAtUs: toArrival(fields[2]),
        streamed: fields[3] === 1,
        dimensions: Array.isArray(dimensions) ? toDimensions(dimensions) : toCount(dimensions),
        ...(fields[5] === 1 && { isBackground: true }),
      };
    }
    case "e": {
      const prices = fields[7];
      const ending = toEnding(fields);
      if (ending === null) return null;
      return {
        kind: "end",
        sequence: number,
        ending,
        prices: typeof prices === "number" ? prices : toPrices(prices),
      };
    }
    case "s":
      return { kind: "settle", settlement: toSettlement(fields) };
    default:
      return null;
  }
}

function toDimensions(fields: readonly unknown[]): UsageDimensions {
  return {
    principalId: toText(fields[0]) ?? "",
    principalName: toText(fields[1]) ?? "",
    keyId: toText(fields[2]),
    relayTokenId: toText(fields[3]),
    providerId: toText(fields[4]) ?? "",
    model: toText(fields[5]),
    upstreamName: toText(fields[6]),
    endpoint: toText(fields[7]) ?? "",
    client: toText(fields[8]),
    tags: toTexts(fields[9]),
    fixedTags: toTexts(fields[10]),
  };
}

/** The settlement of a line that stands alone; null when it is none. */
export function decodeSettlement(bytes: Uint8Array): Settlement | null {
  const line = new LineCursor(Buffer.from(bytes));
  const entry = line.next() ? decodeJournalLine(line) : null;
  return entry?.kind === "settle" ? entry.settlement : null;
}

function toSettlement(fields: readonly unknown[]): Settlement {
  return {
    event: { eventId: toArrival(fields[1]), lane: toCount(fields[2]) },
    settledAtUs: toArrival(fields[3]),
    statusCode: toCount(fields[4]),
    outcome: toOutcome(fields[5]),
    errorKind: toText(fields[6]),
    prices: toPrices(fields[7]),
    costPico: toCost(fields[8]),
    unpriced: fields[9] === 1,
    usage: toUsage(fields[10], fields[11]),
    tier: toText(fields[12]) ?? undefined,
    geo: toText(fields[13]) ?? undefined,
    costReportedPico: toCost(fields[14]) ?? undefined,
  };
}

function toUsage(shape: unknown, quantities: unknown): ReportedUsage | null {
  const [known, members] = [toShape(shape), toMembers(quantities)];
  return known === null || members === null ? null : { shape: known, quantities: toQuantities(members) };
}

function toCost(value: unknown): bigint | null {
  const cost = toText(value);
  return cost !== null && /^[0-9]{1,60}$/.test(cost) ? BigInt(cost) : null;
}

/** Null when the usage is not spelled by unit: an earlier version's line, which would be read as no usage. */
function toEnding(fields: readonly unknown[]): UsageFigures | null {
  if (toShape(fields[10]) !== null && toMembers(fields[11]) === null) return null;
  return {
    statusCode: toCount(fields[2]),
    outcome: toOutcome(fields[3]),
    errorKind: toText(fields[4]),
    durationUs: toDuration(fields[5]),
    timeToFirstByteUs: fields[6] === null ? null : toDuration(fields[6]),
    usage: toUsage(fields[10], fields[11]),
    costPico: toCost(fields[8]),
    unpriced: fields[9] === 1,
    tier: toText(fields[12]) ?? undefined,
    failure: toFailure(fields[13]),
    geo: toText(fields[14]) ?? undefined,
    costReportedPico: toCost(fields[15]) ?? undefined,
  };
}

/** Fields of a journal's lines, each taken for something that can be stored, whatever stands there. */

export function toText(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

export function toTexts(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((text) => typeof text === "string") : [];
}

export function toOutcome(value: unknown): Outcome {
  return OUTCOMES.find((outcome) => outcome === value) ?? "unreachable";
}

export function toFailure(value: unknown): ConnectionFailure | undefined {
  return CONNECTION_FAILURES.find((failure) => failure === value);
}

export function toShape(value: unknown): UsageShape | null {
  return USAGE_SHAPES.find((shape) => shape === value) ?? null;
}

/**
 * A greater quantity is nonsense that an upstream has told. Sums of it would leave the range of doubles, which PostgreSQL
 * answers with an error: the batch would fail for good, and later every report of its rows.
 */
export const QUANTITY_MAX = 1e290;

type Members = ReadonlyMap<string, unknown>;

export function toMembers(value: unknown): Members | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? new Map(Object.entries(value))
    : null;
}

export function toQuantities(members: Members): Quantities {
  return byUnit(UNITS, (unit) => {
    const quantity = members.get(unit);
    return typeof quantity === "number" && quantity >= 0 ? Math.min(quantity, QUANTITY_MAX) : undefined;
  });
}

/** In the order of UNITS, so that equal sets have equal texts. Also reads a price set back from its stored JSON text. */
export function toPrices(value: unknown): AppliedPrices {
  const members = toMembers(value);
  const prices = byUnit(UNITS, (unit) => {
    const price = members?.get(unit);
    return price === null || typeof price === "number" ? price : undefined;
  });
  const when = toConditions(toMembers(members?.get("when")));
  const lacks = members?.get("lacks");
  if (lacks === "tier" || lacks === "geo") return { ...prices, lacks };
  return when === null ? prices : { ...prices, when };
}

/** In the order of `PriceConditions`; null for none. */
export function toConditions(members: Members | null): PriceConditions | null {
  const [tier, inputOver, geo, hours] = ["tier", "inputOver", "geo", "hours"].map((name) =>
    members?.get(name),
  );
  const when = {
    ...(typeof tier === "string" && { tier }),
    ...(typeof inputOver === "number" && { inputOver }),
    ...(typeof geo === "string" && { geo }),
    ...(typeof hours === "string" && { hours }),
  };
  return Object.keys(when).length === 0 ? null : when;
}
