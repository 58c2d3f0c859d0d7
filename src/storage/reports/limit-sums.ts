import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { LimitIndex } from "#limits/limit-index.ts";
import type { LimitQuestion, LimitSum } from "#limits/limit-sums.ts";
import { isSliding, type SlidingWindow, toStepUs, toWindowStart } from "#limits/limit-window.ts";
import {
  type Limit,
  LIMIT_MEASURES,
  type LimitedRequest,
  type LimitWindow,
  MEASURES,
} from "#limits/limit.ts";
import { LONG_REQUEST_US } from "#storage/cells/measures.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import { joinCost } from "#storage/cells/sums.ts";
import { dialectOf, type Script } from "#storage/sql/script.ts";
import type { Wanted } from "./chosen-events.ts";
import { Fold, type FoldKeys, type FoldSum } from "./fold.ts";
import { type FoldedEvents, foldEvents, foldRows, foldWindow, toKeys } from "./folded-window.ts";
import { groupLabelSets } from "./label-groups.ts";
import type { Label } from "./label-sets.ts";
import { everyRequest } from "./request-filter.ts";
import { cutRange, NOTHING, readEdges } from "./window-cut.ts";

/** The usage that is folded for some windows. */
export interface Counted extends Wanted {
  readonly windows: CountedWindows;
  readonly keys: FoldKeys;
}

/** Sums by the periods of `CountedWindows`. */
export interface CountedFold {
  readonly fold: Fold;
  /** The windows that they count in. */
  readonly names: readonly LimitWindow[];
  /** -1 takes out what a window does not hold. */
  readonly sign: 1 | -1;
}

/** Adds up what some windows hold. */
export type LimitSource = (counted: Counted) => Script<readonly CountedFold[]>;

/** Adds up usage for limits. See `LimitLedger.sumLimits`. */
export function* sumLimits(
  { limits, nowUs }: LimitQuestion,
  source: LimitSource = fromTotals(),
): Script<readonly LimitSum[]> {
  const filter = yield* everyRequest();
  const labels = LABELS.flatMap(([label, isNeeded]) => (limits.some(isNeeded) ? [label] : []));
  const groups = yield* groupLabelSets(
    filter,
    labels.map((label) => ({ label })),
  );
  const keys = toKeys(groups, filter);
  const requests = groups.values.map((values) => toRequest(labels, values));
  const sums: LimitSum[] = [];
  for (const alike of groupLimits(limits)) {
    const windows = new CountedWindows(alike, nowUs);
    const uses = new Uses(alike, { requests, windows });
    for (const folded of yield* source({ windows, filter, groups, keys })) uses.add(folded);
    sums.push(...uses.toSums());
  }
  return sums;
}

/** Groups limits whose windows are folded together: those of a sliding one by each end of requests, and all calendar ones. */
export function groupLimits(limits: readonly Limit[]): readonly (readonly Limit[])[] {
  const recorded = limits.filter(({ window }) => window !== null);
  const toName = ({ window, measure }: Limit) =>
    window !== null && isSliding(window) ? `${window} ${measure === "requests"}` : "";
  return [...Map.groupBy(recorded, toName).values()];
}

/** The windows of a group of limits. */
export class CountedWindows {
  readonly names: readonly LimitWindow[];
  /** The one that slides; null for those of the calendar. */
  readonly sliding: SlidingWindow | null;
  /** The end of a request that places it in a window. */
  readonly by: "begin" | "end";
  readonly nowUs: InstantUs;
  /** Usage before it is in no window. */
  readonly fromUs: InstantUs;
  /** The length of a step of a sliding window; calendar windows are made of whole days. */
  readonly stepUs: number;

  constructor(limits: readonly Limit[], nowUs: InstantUs) {
    this.names = [...new Set(limits.flatMap(({ window }) => window ?? []))];
    this.sliding = this.names.find(isSliding) ?? null;
    const isByBegin = this.sliding !== null && limits.some(({ measure }) => measure === "requests");
    this.by = isByBegin ? "begin" : "end";
    this.nowUs = nowUs;
    this.fromUs = Math.min(...this.names.map((name) => toWindowStart(name, nowUs)));
    this.stepUs = this.sliding === null ? DAY_US : toStepUs(this.sliding);
  }

  /** The instant with which a period begins: a step of a sliding window, and of the calendar as long as no window begins. */
  toPeriod(instantUs: InstantUs): InstantUs {
    return this.sliding === null
      ? Math.max(...this.names.map((name) => toWindowStart(name, instantUs)))
      : Math.floor(instantUs / this.stepUs) * this.stepUs;
  }

  /** When the windows began that a period lies in, or its step of a sliding one; without those that ended before `nowUs`. */
  toStarts(names: readonly LimitWindow[], period: InstantUs): ReadonlyMap<LimitWindow | null, InstantUs> {
    return new Map(
      names
        .map((name) => [name, isSliding(name) ? period : toWindowStart(name, period)] as const)
        .filter(([name, startUs]) => startUs >= toWindowStart(name, this.nowUs)),
    );
  }
}

/** Reads totals, and for sliding windows events. The calendar's leave out what arrived before `arrivedFromDay`. */
export function fromTotals(arrivedFromDay = 0): LimitSource {
  return (counted) =>
    counted.windows.sliding === null ? foldCalendar(counted, arrivedFromDay) : foldSliding(counted);
}

/**
 * Each window has the cells that fill it. What is not sealed is read once for all, and what ended on another day than it
 * arrived: totals are by arrival, so it is taken out of one window and added to the other.
 */
function* foldCalendar(
  { windows, filter, groups, keys }: Counted,
  arrivedFromDay: number,
): Script<readonly CountedFold[]> {
  const { names, nowUs } = windows;
  const toPeriod = windows.toPeriod.bind(windows);
  const held = createFold(keys);
  const moved = createFold(keys);
  const folds: CountedFold[] = [
    { fold: held, names, sign: 1 },
    { fold: moved, names, sign: -1 },
  ];
  const edges = yield* readEdges();
  const toCut = (fromUs: InstantUs, longest: "day" | "month") => {
    const firstUs = Math.max(fromUs, arrivedFromDay * DAY_US);
    return edges === null || firstUs >= edges.endUs
      ? NOTHING
      : cutRange({ fromUs: firstUs, toUs: edges.endUs }, longest, edges);
  };
  const { hours } = toCut(windows.fromUs, "day");
  yield* foldWindow(held, { cut: { ...NOTHING, hours }, filter, groups, toPeriod });
  for (const name of names) {
    const { cells } = toCut(
      toWindowStart(name, nowUs),
      name === "month" || name === "total" ? "month" : "day",
    );
    const fold = createFold(keys);
    const toWindow = (instantUs: InstantUs) => toPeriod(toWindowStart(name, instantUs));
    yield* foldWindow(fold, { cut: { ...NOTHING, cells }, filter, groups, toPeriod: toWindow });
    folds.push({ fold, names: [name], sign: 1 });
  }
  const ends = [
    { fold: held, day: "ended_day" },
    { fold: moved, day: "arrived_day" },
  ];
  for (const { fold, day } of ends) {
    const from = `FROM carried_total WHERE ${day} >= ? AND arrived_day >= ? ORDER BY 1`;
    yield* foldRows(fold, {
      toSql: (measures) => `SELECT ${day} AS at, combination, result, ${measures.join(", ")} ${from}`,
      bindings: [windows.fromUs / DAY_US, arrivedFromDay],
      toPeriod: (at) => toPeriod(at * DAY_US),
    });
  }
  return folds;
}

/** Adds up what began or ended in a sliding window; requests that took long are found by an index of their end. */
function* foldSliding(counted: Counted): Script<readonly CountedFold[]> {
  const { names, by, fromUs } = counted.windows;
  const fold = createFold(counted.keys);
  if (by === "begin") yield* foldLimited(fold, counted, { condition: "e.id >= ?", bindings: [fromUs] });
  else {
    const end = toEventEnd(by);
    yield* foldLimited(fold, counted, {
      condition: `e.id >= ? AND e.duration_us < ${LONG_REQUEST_US} AND ${end} >= ?`,
      bindings: [fromUs - LONG_REQUEST_US, fromUs],
    });
    yield* foldLimited(fold, counted, {
      condition: `e.duration_us >= ${LONG_REQUEST_US} AND ${end} >= ?`,
      bindings: [fromUs],
    });
  }
  return [{ fold, names, sign: 1 }];
}

/** Adds up events one by one, where a condition is met. */
export function* foldLimited(
  fold: Fold,
  { windows, filter, groups }: Counted,
  range: Pick<FoldedEvents, "condition" | "bindings">,
): Script<void> {
  const { toStep } = yield* dialectOf();
  const at = toStep(toEventEnd(windows.by), windows.stepUs);
  yield* foldEvents(fold, { ...range, filter, groups, at, toPeriod: windows.toPeriod.bind(windows) });
}

/** The end of a request that places it in a window, in SQL over `event AS e`. */
export function toEventEnd(by: CountedWindows["by"]): string {
  return by === "begin" ? "e.id" : "(e.id + e.duration_us)";
}

/** The units that some measure of a limit adds up. */
const COUNTED_UNITS = [...new Set(LIMIT_MEASURES.flatMap((measure) => MEASURES[measure].units))];
const COUNTED_MEASURES = [
  "requests",
  "unpriced_requests",
  "pending_requests",
  "unmetered_requests",
  "cost_hi",
  "cost_lo",
  ...COUNTED_UNITS,
];

/** An empty fold of what limits count. */
export function createFold(keys: FoldKeys): Fold {
  return new Fold(keys, COUNTED_MEASURES);
}

const hasTags = ({ subject, each }: Limit) => subject.kind === "tag" || each?.kind === "tag";
const hasModel = ({ model }: Limit) => model !== null;
/** The labels that tell requests apart, and the limits that need it: the fewer labels, the fewer groups. */
const LABELS: readonly (readonly [label: Label, isNeeded: (limit: Limit) => boolean])[] = [
  ["endpoint", () => true],
  [
    "principal_id",
    ({ subject, each }) => subject.kind === "principal" || (each !== null && each.kind !== "key"),
  ],
  ["principal_name", ({ each }) => each !== null && each.kind !== "key"],
  ["key_id", ({ subject, each }) => subject.kind === "key" || each?.kind === "key"],
  ["relay_token_id", ({ subject }) => subject.kind === "relay_token"],
  ["tags", hasTags],
  ["model", hasModel],
  ["provider_id", hasModel],
  ["upstream_name", hasModel],
];

interface NamedRequest extends LimitedRequest {
  readonly principalName: string;
}

/** Returns what the requests of a group have in common, as far as the labels tell. */
function toRequest(labels: readonly Label[], values: readonly (string | null)[]): NamedRequest {
  const find = (label: Label) => values[labels.indexOf(label)] ?? null;
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

/** The use of a limit, or of a value of its `each`: by the start of a window, or of a step. */
interface Use extends Omit<LimitSum, "limitId" | "parts"> {
  readonly limit: Limit;
  readonly parts: Map<InstantUs, UsePart>;
}

/** Numbers, which add up ten times as fast as exact ones; each is exact as far as its sums go. */
interface UsePart {
  requests: number;
  unpriced: number;
  unknown: number;
  costHi: number;
  costLo: number;
  /** In the order of `COUNTED_UNITS`. */
  readonly quantities: number[];
}

interface UsedLimit {
  readonly limit: Limit;
  /** By the value of its `each`, and of a tag by who used it. */
  readonly uses: Map<string, Use>;
}

/** The uses of the limits of a group. */
class Uses {
  readonly #limits: readonly UsedLimit[];
  readonly #index: LimitIndex<UsedLimit>;
  readonly #requests: readonly NamedRequest[];
  readonly #windows: CountedWindows;
  readonly #ofGroup: (readonly Use[])[] = [];

  constructor(
    limits: readonly Limit[],
    { requests, windows }: { readonly requests: readonly NamedRequest[]; readonly windows: CountedWindows },
  ) {
    this.#limits = limits.map((limit) => ({ limit, uses: new Map() }));
    this.#index = new LimitIndex(this.#limits);
    this.#requests = requests;
    this.#windows = windows;
  }

  add({ fold, names, sign }: CountedFold): void {
    let period = Number.NaN;
    let starts: ReadonlyMap<LimitWindow | null, InstantUs> = new Map();
    for (const sum of fold.sums()) {
      if (sum.period !== period) starts = this.#windows.toStarts(names, (period = sum.period));
      for (const { limit, parts } of (this.#ofGroup[sum.group] ??= this.#find(sum.group))) {
        const startUs = starts.get(limit.window);
        if (startUs === undefined) continue;
        let part = parts.get(startUs);
        if (part === undefined) parts.set(startUs, (part = toEmptyPart()));
        addTo(part, sum, sign);
      }
    }
  }

  toSums(): readonly LimitSum[] {
    return this.#limits.flatMap(({ uses }) =>
      [...uses.values()].filter(({ parts }) => parts.size > 0).map(toSum),
    );
  }

  #find(group: number): readonly Use[] {
    const request = this.#requests[group];
    const found: Use[] = [];
    if (request === undefined) return found;
    this.#index.visit(request, ({ limit, uses }, value) => {
      const isByPrincipal = limit.each?.kind === "tag";
      const name = isByPrincipal ? `${value} ${request.principalId}` : value;
      let use = uses.get(name);
      if (use === undefined) uses.set(name, (use = toUse(limit, value, request)));
      found.push(use);
    });
    return found;
  }
}

function toUse(limit: Limit, value: string, { principalId, principalName }: NamedRequest): Use {
  const kind = limit.each?.kind;
  const use = { limit, value, parts: new Map<InstantUs, UsePart>() };
  if (kind === "tag") return { ...use, label: value, principalId, principalName };
  return { ...use, label: kind === "principal" ? principalName : value, principalId: "", principalName: "" };
}

function toSum({ limit, parts, ...use }: Use): LimitSum {
  const list = Array.from(parts, ([startUs, part]) => {
    const { unpriced, unknown } = part;
    return { startUs, amount: toAmount(limit, part), unpriced, unknown };
  });
  return { ...use, limitId: limit.id, parts: list.sort((one, other) => one.startUs - other.startUs) };
}

function toEmptyPart(): UsePart {
  return {
    requests: 0,
    unpriced: 0,
    unknown: 0,
    costHi: 0,
    costLo: 0,
    quantities: COUNTED_UNITS.map(() => 0),
  };
}

function addTo(part: UsePart, sum: FoldSum, sign: 1 | -1): void {
  part.requests += sign * sum.requests;
  part.unpriced += sign * sum.unpriced_requests;
  part.unknown += sign * (sum.pending_requests + sum.unmetered_requests);
  part.costHi += sign * sum.cost_hi;
  part.costLo += sign * sum.cost_lo;
  // Some hundred thousand sums are added: to iterate over entries takes twice as long.
  COUNTED_UNITS.forEach((unit, index) => {
    part.quantities[index] = (part.quantities[index] ?? 0) + sign * (sum.units[unit] ?? 0);
  });
}

function toAmount({ measure }: Limit, { requests, costHi, costLo, quantities }: UsePart): bigint {
  if (measure === "cost") return joinCost(costHi, costLo);
  const { units } = MEASURES[measure];
  if (units.length === 0) return BigInt(requests);
  return BigInt(
    Math.round(units.reduce((sum, unit) => sum + (quantities[COUNTED_UNITS.indexOf(unit)] ?? 0), 0)),
  );
}
