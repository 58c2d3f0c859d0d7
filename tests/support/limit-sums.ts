import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { existsSync } from "node:fs";
import type { Limit } from "#limits/limit.ts";
import { sumLimits, fromTotals } from "#storage/reports/limit-sums.ts";
import { readFrom } from "#storage/sqlite/drive.ts";
import { toEventTotal, type CheckedEvent } from "./ledger-totals.ts";
import { LIMIT } from "../limits/limit.ts";

const DAY_US = 86_400_000_000;

const SAMPLE: Limit = { ...LIMIT, measure: "cost", amount: 1n, window: "month" };

/** Every window, and every measure in a window that slides and in one that does not. */
export const LIMIT_SAMPLES: readonly Limit[] = [
  ...(["minute", "hour", "day", "week", "month", "total"] as const).map((window) =>
    Object.assign({}, SAMPLE, { id: window, window }),
  ),
  { ...SAMPLE, id: "requests minute", measure: "requests", window: "minute" },
  { ...SAMPLE, id: "requests day", measure: "requests", window: "day", each: { kind: "key" } },
  { ...SAMPLE, id: "tokens hour", measure: "tokens", window: "hour" },
  { ...SAMPLE, id: "uncached hour", measure: "uncached_tokens", window: "hour" },
  { ...SAMPLE, id: "uncached month", measure: "uncached_tokens", window: "month", each: { kind: "key" } },
  { ...SAMPLE, id: "tokens total", measure: "tokens", window: "total", each: { kind: "principal" } },
];

/**
 * What limits are told to count, by the totals, is what the events add up to: for the samples and for each limit of the
 * catalog, at the first and the last end and now.
 */
export function checkLimitSums(
  database: Database,
  events: readonly CheckedEvent[],
  catalogPath: string,
): void {
  const made = database.query("SELECT 1 FROM sqlite_schema WHERE name = 'carried_total'").get();
  if (made === null || events.length === 0) return;
  const { pruned } = database
    .query<{ pruned: number }, []>("SELECT pruned_before_us AS pruned FROM ledger_state")
    .get() ?? { pruned: 0 };
  // Fractions are rounded where they are added up, which an upstream that counts tokens has no use for.
  const isWhole = events.every((event) => toTokens(toEventTotal(event)).every(isWholeOrNone));
  const limits = [...LIMIT_SAMPLES, ...readLimits(catalogPath)].filter(
    ({ measure }) => isWhole || !isOfTokens(measure),
  );
  const ends = events.map(({ id, duration_us: durationUs }) => id + durationUs);
  const moments = new Set([ends[0] ?? 0, ends.at(-1) ?? 0, Date.now() * 1000]);
  for (const nowUs of moments) {
    // Where retention has removed rows there are totals without events: those are left out of both.
    const kept = Math.ceil(pruned / DAY_US);
    const sums = readFrom(database, sumLimits({ limits, nowUs }, fromTotals(kept)));
    const told = new Map<string, Sum>();
    for (const { limitId, value, parts } of sums)
      for (const { startUs, ...part } of parts) {
        const key = `${limitId} | ${value} | ${startUs}`;
        told.set(key, plus(told.get(key) ?? NOTHING, part));
      }
    expect(Object.fromEntries(spellAll(told))).toEqual(
      Object.fromEntries(addUp(limits, events, { nowUs, kept })),
    );
  }
}

interface Sum {
  readonly amount: bigint;
  readonly unpriced: number;
  readonly unknown: number;
}

const NOTHING: Sum = { amount: 0n, unpriced: 0, unknown: 0 };
const plus = (one: Sum, other: Sum): Sum => ({
  amount: one.amount + other.amount,
  unpriced: one.unpriced + other.unpriced,
  unknown: one.unknown + other.unknown,
});
const isSome = ({ amount, unpriced, unknown }: Sum) => amount !== 0n || unpriced !== 0 || unknown !== 0;
const spell = ({ amount, unpriced, unknown }: Sum) =>
  `${amount}, ${unpriced} unpriced, ${unknown} without usage`;

function spellAll(sums: ReadonlyMap<string, Sum>): ReadonlyMap<string, string> {
  return new Map([...sums].filter(([, sum]) => isSome(sum)).map(([key, sum]) => [key, spell(sum)]));
}

/** It was answered with success, or its caller left before an error came, and no usage was told, or only its beginning. */
function isUntold({ shape, outcome, status_code: status }: CheckedEvent): boolean {
  if (shape === "pending") return true;
  if (shape !== null && shape !== "begun") return false;
  const isSuccess = status >= 200 && status <= 299;
  return (outcome === "ok" && isSuccess) || (outcome === "cancelled" && (isSuccess || status === 499));
}

/** Asks for an answer of before, or for numbers: held against limits of requests in sliding windows alone. */
const USING_NOTHING =
  /^(responses\/(retrieve|delete|cancel|input_items|input_tokens)|messages\/count_tokens)$/;

const toTokens = (total: ReturnType<typeof toEventTotal>) => [
  total.input_tokens,
  total.output_tokens,
  total.cached_input_tokens,
];
const isOfTokens = (measure: Limit["measure"]) => measure === "tokens" || measure === "uncached_tokens";
const isWholeOrNone = (quantity: number | null) => quantity === null || Number.isInteger(quantity);

function addUp(
  limits: readonly Limit[],
  events: readonly CheckedEvent[],
  { nowUs, kept }: { readonly nowUs: number; readonly kept: number },
): ReadonlyMap<string, string> {
  const sums = new Map<string, Sum>();
  for (const event of events) {
    const tags: readonly (string | readonly string[])[] = JSON.parse(event.tags);
    const total = toEventTotal(event);
    const { pico, unpriced_requests: unpriced } = total;
    const [input, output, cached] = toTokens(total);
    const amounts = {
      cost: pico,
      requests: 1n,
      tokens: BigInt(Math.round((input ?? 0) + (output ?? 0) + (cached ?? 0))),
      uncached_tokens: BigInt(Math.round((input ?? 0) + (output ?? 0))),
      concurrent: 0n,
    };
    for (const limit of limits) {
      const { window, measure } = limit;
      const value = toValue(limit, event, tags);
      if (window === null || value === null) continue;
      const isSliding = window === "minute" || window === "hour";
      if (USING_NOTHING.test(event.endpoint) && !(measure === "requests" && isSliding)) continue;
      if (event.endpoint === "moderation" && isOfTokens(measure)) continue;
      if (!isSliding && event.id < kept * DAY_US) continue;
      const atUs = isSliding && measure === "requests" ? event.id : event.id + event.duration_us;
      const startUs = toStart(window, atUs);
      const fromUs = isSliding
        ? toStart(window, nowUs - LENGTHS_US[window] + STEPS_US[window])
        : toStart(window, nowUs);
      if (startUs < fromUs) continue;
      const key = `${limit.id} | ${value} | ${startUs}`;
      const used = { amount: amounts[measure], unpriced: unpriced ?? 0, unknown: isUntold(event) ? 1 : 0 };
      sums.set(key, plus(sums.get(key) ?? NOTHING, used));
    }
  }
  return spellAll(sums);
}

/** Null where the limit does not hold for it. */
function toValue(
  { subject, model, formerModels, otherTargets = [], each, fixed }: Limit,
  event: CheckedEvent,
  stored: readonly (string | readonly string[])[],
): string | null {
  // Behind the tags stands the list of the fixed ones, where there are any.
  const marked = stored.at(-1);
  const fixedTags = typeof marked === "string" ? [] : (marked ?? []);
  const tags = fixed ? fixedTags : stored.filter((tag) => typeof tag === "string");
  const isOf =
    subject.kind === "everybody" ||
    (subject.kind === "principal" && subject.id === event.principal_id) ||
    (subject.kind === "key" && subject.id === event.key_id) ||
    (subject.kind === "relay_token" && subject.id === event.relay_token_id) ||
    (subject.kind === "tag" && tags.includes(subject.pair));
  const isElsewhere =
    event.model !== model &&
    otherTargets.some(
      ({ name, providerId, upstreamName }) =>
        name === event.model && providerId === event.provider_id && upstreamName === event.upstream_name,
    );
  if (!isOf || isElsewhere || (model !== null && ![model, ...formerModels].includes(event.model ?? "")))
    return null;
  if (each === null) return "";
  if (each.kind === "principal") return event.principal_id;
  return each.kind === "key" ? event.key_id : (tags.find((tag) => tag.startsWith(`${each.key}:`)) ?? null);
}

const STEPS_US = { minute: 10_000, hour: 1_000_000 };
const LENGTHS_US = { minute: 60_000_000, hour: 3_600_000_000 };

function toStart(window: NonNullable<Limit["window"]>, atUs: number): number {
  const day = Math.floor(atUs / DAY_US);
  const date = new Date(atUs / 1000);
  switch (window) {
    case "minute":
      return Math.floor(atUs / 10_000) * 10_000;
    case "hour":
      return Math.floor(atUs / 1_000_000) * 1_000_000;
    case "day":
      return day * DAY_US;
    // The first of 1970 was a Thursday.
    case "week":
      return (Math.floor((day + 3) / 7) * 7 - 3) * DAY_US;
    case "month":
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth()) * 1000;
    default:
      return 0;
  }
}

interface LimitRow {
  readonly id: string;
  readonly principal_id: string | null;
  readonly key_id: string | null;
  readonly relay_token_id: string | null;
  readonly tag: string | null;
  readonly model: string | null;
  readonly former_models: string;
  readonly each: string | null;
  readonly measure: Limit["measure"];
  readonly window: Limit["window"];
  readonly fixed: number | null;
}

function readLimits(path: string): readonly Limit[] {
  if (!existsSync(path)) return [];
  const database = new Database(path, { readonly: true });
  try {
    database.run("PRAGMA busy_timeout = 5000");
    if (database.query("SELECT 1 FROM sqlite_schema WHERE name = 'limits'").get() === null) return [];
    const rows = database.query<LimitRow, []>("SELECT * FROM limits").all();
    return rows.filter(({ window }) => window !== null).map(toLimit);
  } finally {
    database.close();
  }
}

function toLimit(row: LimitRow): Limit {
  const { id, measure, window, each, fixed } = row;
  const former: readonly (string | readonly string[])[] = JSON.parse(row.former_models);
  const kind = each?.startsWith("tag:") === true ? "tag" : each;
  return {
    ...SAMPLE,
    id,
    subject: toSubject(row),
    model: row.model,
    formerModels: former.filter((name) => typeof name === "string"),
    otherTargets: former.flatMap((other) =>
      typeof other === "string" ? [] : [{ name: other[0]!, providerId: other[1]!, upstreamName: other[2]! }],
    ),
    each:
      kind === null
        ? null
        : kind === "tag"
          ? { kind, key: each!.slice("tag:".length) }
          : { kind: kind === "key" ? "key" : "principal" },
    measure,
    window,
    fixed: fixed === 1,
  };
}

function toSubject(row: LimitRow): Limit["subject"] {
  const { principal_id: principal, key_id: key, relay_token_id: token, tag } = row;
  if (principal !== null) return { kind: "principal", id: principal, name: "" };
  if (key !== null) return { kind: "key", id: key };
  if (token !== null) return { kind: "relay_token", id: token };
  return tag === null ? { kind: "everybody" } : { kind: "tag", pair: tag };
}
