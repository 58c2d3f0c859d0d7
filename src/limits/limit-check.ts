import type { InstantUs } from "#kernel/clock.ts";
import { picoToNumber } from "#kernel/units.ts";
import { OTHER_VALUES } from "./limit-entry.ts";
import type { LimitSum, LimitSumPart } from "./limit-sums.ts";
import { isSliding, SLIDING_LENGTH_US, toStepUs, toWindowStart } from "./limit-window.ts";
import type { Limit, LimitMeasure, LimitWindow } from "./limit.ts";

/** What is counted of a limit. */
const FIGURES = ["used", "unpriced_requests", "unknown_requests"] as const;
type LimitFigure = (typeof FIGURES)[number];

/** A limit whose events, totals and server do not say the same. */
export interface LimitFinding {
  readonly limit: Limit;
  readonly of: LimitFigure;
  /** The value of its `each`; empty without one. */
  readonly label: string;
  readonly what: "totals" | "server";
  /** What the events add up to; of what was used in the unit of the amount. */
  readonly expected: number;
  readonly told: number;
}

/** What a server says of a limit, or of one value of its `each`. */
interface ToldUse {
  readonly label: string;
  readonly used: number;
  readonly unpriced_requests: number;
  readonly unknown_requests: number;
}

export interface ToldLimit {
  /** 0 for `total`. */
  readonly windowStartUs: InstantUs;
  readonly uses: readonly ToldUse[];
}

/** What a server says, by the limits' ids. */
export type Told = ReadonlyMap<string, ToldLimit>;

interface Sides {
  readonly byRows: readonly LimitSum[];
  readonly byTotals: readonly LimitSum[];
}

export interface Whole extends Pick<Sides, "byRows"> {
  /** Rows before it are removed. */
  readonly rowsFromUs: InstantUs;
  /** By the totals, everything. */
  readonly whole: readonly LimitSum[];
}

/** What a server has to say: the events, and where retention has removed some of the window, the totals. */
export function toExpected(
  limits: readonly Limit[],
  { byRows, rowsFromUs, whole }: Whole,
  nowUs: InstantUs,
): readonly LimitSum[] {
  const cut = new Set<string>();
  for (const { id, window } of limits)
    if (window !== null && toWindowStart(window, nowUs) < rowsFromUs) cut.add(id);
  return [...byRows.filter((sum) => !cut.has(sum.limitId)), ...whole.filter((sum) => cut.has(sum.limitId))];
}

/** Each part of each window has to be the same by rows and by totals. */
export function compareWithTotals(limits: readonly Limit[], { byRows, byTotals }: Sides): LimitFinding[] {
  const findings: LimitFinding[] = [];
  for (const limit of limits) {
    const [rows, totals] = [toParts(limit, byRows), toParts(limit, byTotals)];
    for (const label of new Set([...rows.keys(), ...totals.keys()])) {
      const [own, others] = [rows.get(label) ?? [], totals.get(label) ?? []];
      for (const startUs of new Set([...own, ...others].map((part) => part.startUs))) {
        const [expected, told] = [own, others].map((parts) =>
          add(
            limit.measure,
            parts.filter((part) => part.startUs === startUs),
          ),
        );
        if (expected === undefined || told === undefined) continue;
        for (const of of FIGURES)
          if (!isSame(of, expected, told))
            findings.push({ limit, of, label, what: "totals", expected: expected[of], told: told[of] });
      }
    }
  }
  return findings;
}

export interface Asked {
  /** What the ledger holds, as of a moment between the two answers. */
  readonly sums: readonly LimitSum[];
  readonly before: Told;
  readonly after: Told;
  /** Requests that have begun and not ended: a sliding window of requests counts them, and the ledger does not yet. */
  readonly underWay: number;
  /** Use by other replicas that ended less than this before the first answer may be missing in it; 0 without other replicas. */
  readonly peersLagUs: number;
}

/**
 * A server that serves on moves between two answers: what the ledger held in between has to lie between them. At rest all
 * three are equal.
 */
export function compareWithServer(
  limits: readonly Limit[],
  { sums, before, after, underWay, peersLagUs }: Asked,
): LimitFinding[] {
  const findings: LimitFinding[] = [];
  for (const limit of limits) {
    const [first, last] = [before.get(limit.id), after.get(limit.id)];
    if (first === undefined || last === undefined || limit.window === null) continue;
    // Past so many values a server counts the rest together; which those are depends on the order in which they came.
    if (last.uses.some(({ label }) => label.startsWith(OTHER_VALUES))) continue;
    const parts = toParts(limit, sums);
    const labels = new Set([...parts.keys(), ...first.uses.map(({ label }) => label)]);
    for (const label of labels) {
      const own = parts.get(label) ?? [];
      for (const of of FIGURES) {
        const [told, toldLast] = [toldOf(first, label, of), toldOf(last, label, of)];
        const bounds = isSliding(limit.window)
          ? toSlidingBounds({ limit, of }, own, { first, last, underWay, peersLagUs })
          : toCalendarBounds({ limit, of }, own, { first, last });
        if (bounds === null) continue;
        const [least, most] = isSliding(limit.window) ? [told, told] : [told, toldLast];
        if (least <= bounds.most && bounds.least <= most) continue;
        findings.push({ limit, of, label, what: "server", expected: bounds.least, told });
      }
    }
  }
  return findings;
}

/** What was used in the window that holds an instant, of all values of `each` together. */
export function addUpWindow(limit: Limit, sums: readonly LimitSum[], nowUs: InstantUs): number {
  const fromUs = limit.window === null ? 0 : toWindowStart(limit.window, nowUs);
  const parts = [...toParts(limit, sums).values()].flat();
  const isHeld = ({ startUs }: LimitSumPart) =>
    limit.window !== null && isSliding(limit.window) ? startUs >= fromUs : startUs === fromUs;
  return add(limit.measure, parts.filter(isHeld)).used;
}

interface Answers {
  readonly first: ToldLimit;
  readonly last: ToldLimit;
}

interface Counted {
  readonly limit: Limit;
  readonly of: LimitFigure;
}

/** Null where the window started anew in between. */
function toCalendarBounds({ limit, of }: Counted, parts: readonly LimitSumPart[], { first, last }: Answers) {
  const startUs = first.windowStartUs;
  if (last.windowStartUs !== startUs) return null;
  const sum = add(
    limit.measure,
    parts.filter((part) => part.startUs === startUs),
  )[of];
  return { least: sum, most: sum };
}

/** The answer's own instant is not told, and lies in the step with which its window ends, or up to the last answer. */
function toSlidingBounds(
  { limit: { measure, window }, of }: Counted,
  parts: readonly LimitSumPart[],
  { first, last, underWay, peersLagUs }: Answers & Pick<Asked, "underWay" | "peersLagUs">,
) {
  if (window === null || !isSliding(window)) return null;
  const lengthUs = SLIDING_LENGTH_US[window];
  const within = (fromUs: InstantUs, toUs: InstantUs) =>
    add(
      measure,
      parts.filter(({ startUs }) => startUs >= fromUs && startUs < toUs),
    )[of];
  const stepUs = toStepUs(window);
  const most = within(first.windowStartUs - stepUs, last.windowStartUs + lengthUs + stepUs);
  return {
    least: within(last.windowStartUs, first.windowStartUs + lengthUs - stepUs - peersLagUs),
    most: most + (measure === "requests" && of === "used" ? underWay : 0),
  };
}

/** By the label under which a server tells of it: a principal that was made again under its name shares it. */
function toParts({ id }: Limit, sums: readonly LimitSum[]): ReadonlyMap<string, readonly LimitSumPart[]> {
  const byLabel = Map.groupBy(
    sums.filter(({ limitId }) => limitId === id),
    ({ label }) => label,
  );
  return new Map([...byLabel].map(([label, alike]) => [label, alike.flatMap(({ parts }) => parts)] as const));
}

function toldOf({ uses }: ToldLimit, label: string, of: LimitFigure): number {
  return uses.reduce((sum, use) => (use.label === label ? sum + use[of] : sum), 0);
}

function add(measure: LimitMeasure, parts: readonly LimitSumPart[]) {
  let [amount, unpriced, unknown] = [0n, 0, 0];
  for (const part of parts) {
    amount += part.amount;
    unpriced += part.unpriced;
    unknown += part.unknown;
  }
  return {
    used: measure === "cost" ? picoToNumber(amount) : Number(amount),
    exact: amount,
    unpriced_requests: unpriced,
    unknown_requests: unknown,
  };
}

type Added = ReturnType<typeof add>;

function isSame(of: LimitFigure, one: Added, other: Added): boolean {
  return of === "used" ? one.exact === other.exact : one[of] === other[of];
}

/** Limits that the ledger can be asked about: what is under way is in no ledger. */
export function isRecorded(limit: Limit): limit is Limit & { readonly window: LimitWindow } {
  return limit.window !== null;
}
