import type { Script } from "#storage/sql/script.ts";
import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { LimitIndex } from "#limits/limit-index.ts";
import type { LimitQuestion, LimitSum, LimitSumPart } from "#limits/limit-sums.ts";
import { isSliding, toStepUs, toWindowStart } from "#limits/limit-window.ts";
import type { Limit, LimitedRequest, LimitWindow } from "#limits/limit.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import { joinCost } from "#storage/cells/sums.ts";
import {
  type CalendarRange,
  type CountedRow,
  type OnCounted,
  readCalendarRows,
  readSlidingRows,
  type SlidingRange,
} from "./counted-rows.ts";
import { type Label, type LabelBlock, readSomeLabelSets } from "./label-sets.ts";
import { readLabelSets } from "./report-memory.ts";

/** Which sum of a limit something belongs to. */
type SumKey = Pick<LimitSum, "value" | "label" | "principalId" | "principalName">;

/** What a limit, or a value of its `each`, holds. */
interface Held extends SumKey {
  readonly limit: Limit;
  readonly parts: Map<InstantUs, HeldPart>;
}

/** Numbers, which add up ten times as fast as exact ones; each is exact as far as its rows go. */
interface HeldPart {
  requests: number;
  unpriced: number;
  unknown: number;
  costHi: number;
  costLo: number;
  tokens: number;
}

/** Where the rows come from that are added up. */
export interface CountedSource {
  readonly readCalendar: (range: Omit<CalendarRange, "arrivedFromDay">, onRows: OnCounted) => Script<void>;
  readonly readSliding: (range: SlidingRange, onRows: OnCounted) => Script<void>;
}

/** Calendar windows by totals, sliding ones by the rows of the last hour. */
export function toTotals(arrivedFromDay = 0): CountedSource {
  return {
    readCalendar: (range, onRows) => readCalendarRows({ ...range, arrivedFromDay }, onRows),
    readSliding: readSlidingRows,
  };
}

/** Adds up usage for limits. See `LimitLedger.sumLimits`. */
export function* sumLimits(
  { limits, nowUs }: LimitQuestion,
  source: CountedSource = toTotals(),
): Script<readonly LimitSum[]> {
  const requests = new Requests();
  const sums: LimitSum[] = [];
  for (const [window, alike] of Map.groupBy(limits, (limit) => limit.window)) {
    if (window !== null) sums.push(...(yield* sumWindow(source, { limits: alike, window, nowUs, requests })));
  }
  return sums;
}

function* sumWindow(
  { readCalendar, readSliding }: CountedSource,
  {
    limits,
    window,
    nowUs,
    requests,
  }: {
    readonly limits: readonly Limit[];
    readonly window: LimitWindow;
    readonly nowUs: InstantUs;
    readonly requests: Requests;
  },
): Script<readonly LimitSum[]> {
  const held = new Map<Limit, Map<string, Held>>();
  const fromUs = toWindowStart(window, nowUs);
  const toAdding = (chosen: readonly Limit[]): OnCounted => {
    const index = new LimitIndex(chosen.map((limit) => ({ limit })));
    return function* add(rows) {
      yield* requests.load(rows);
      for (const row of rows) {
        const request = requests.find(row.combination);
        if (request === null) continue;
        index.visit(request, ({ limit }, value) => {
          addTo(getHeld(held, limit, toKey(limit, value, request)), row);
        });
      }
    };
  };
  if (isSliding(window)) {
    const stepUs = toStepUs(window);
    const byBegin = limits.filter(({ measure }) => measure === "requests");
    const byEnd = limits.filter(({ measure }) => measure !== "requests");
    if (byBegin.length > 0) yield* readSliding({ fromUs, stepUs, by: "begin" }, toAdding(byBegin));
    if (byEnd.length > 0) yield* readSliding({ fromUs, stepUs, by: "end" }, toAdding(byEnd));
  } else {
    yield* readCalendar({ window, fromDay: fromUs / DAY_US }, toAdding(limits));
  }
  return [...held.values()].flatMap((byName) => [...byName.values()].map(toSum));
}

function toKey(limit: Limit, value: string, { principalId, principalName }: NamedRequest): SumKey {
  const kind = limit.each?.kind;
  if (kind === "tag") return { value, label: value, principalId, principalName };
  const label = kind === "principal" ? principalName : value;
  return { value, label, principalId: "", principalName: "" };
}

function toSum({ limit, parts, ...key }: Held): LimitSum {
  const list: LimitSumPart[] = [];
  for (const [startUs, part] of parts)
    list.push({ startUs, amount: toAmount(limit, part), unpriced: part.unpriced, unknown: part.unknown });
  return { ...key, limitId: limit.id, parts: list.sort((one, other) => one.startUs - other.startUs) };
}

function getHeld(held: Map<Limit, Map<string, Held>>, limit: Limit, key: SumKey): Held {
  let byName = held.get(limit);
  if (byName === undefined) held.set(limit, (byName = new Map<string, Held>()));
  const name = key.principalId === "" ? key.value : `${key.value} ${key.principalId}`;
  let known = byName.get(name);
  if (known === undefined) byName.set(name, (known = { ...key, limit, parts: new Map() }));
  return known;
}

function addTo({ parts }: Held, row: CountedRow): void {
  let part = parts.get(row.startUs);
  if (part === undefined) {
    part = { requests: 0, unpriced: 0, unknown: 0, costHi: 0, costLo: 0, tokens: 0 };
    parts.set(row.startUs, part);
  }
  part.requests += row.requests;
  part.unpriced += row.unpriced;
  part.unknown += row.unknown;
  part.costHi += row.costHi;
  part.costLo += row.costLo;
  part.tokens += row.tokens;
}

function toAmount({ measure }: Limit, { requests, costHi, costLo, tokens }: HeldPart): bigint {
  if (measure === "cost") return joinCost(costHi, costLo);
  return BigInt(measure === "tokens" ? Math.round(tokens) : requests);
}

interface NamedRequest extends LimitedRequest {
  readonly principalName: string;
}

/** Past so many looks one by one, all are read together. */
const LOOKS_MAX = 1_000;

/** Who asked for what, by the label set's id; each is read once. */
class Requests {
  readonly #known = new Map<number, NamedRequest>();
  #looks = 0;
  #isWhole = false;

  /** Null for one that is not there. */
  find(id: number): NamedRequest | null {
    return this.#known.get(id) ?? null;
  }

  /** Reads those of these rows that are not known yet. */
  *load(rows: readonly CountedRow[]): Script<void> {
    if (this.#isWhole) return;
    const missing = new Set<number>();
    for (const { combination } of rows) if (!this.#known.has(combination)) missing.add(combination);
    if (missing.size === 0) return;
    this.#looks += missing.size;
    this.#isWhole = this.#looks >= LOOKS_MAX;
    const add = (block: LabelBlock) => {
      for (let row = 0; row < block.count; row += 1)
        this.#known.set(block.ids[row] ?? 0, toNamedRequest(block, row));
    };
    if (this.#isWhole) yield* (yield* readLabelSets()).blocks(add);
    else yield* readSomeLabelSets([...missing], add);
  }
}

function toNamedRequest(block: LabelBlock, row: number): NamedRequest {
  const find = (label: Label) => block.find(row, label);
  return {
    principalId: find("principal_id") ?? "",
    principalName: find("principal_name") ?? "",
    keyId: find("key_id"),
    relayTokenId: find("relay_token_id"),
    providerId: find("provider_id") ?? "",
    model: find("model"),
    upstreamName: find("upstream_name"),
    endpoint: find("endpoint") ?? "",
    ...parseStoredTags(find("tags") ?? "[]"),
  };
}
