import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import type { Window } from "./filter.ts";

/** When the failures of a client's version count as more than before. */
export const CLIENT_CHANGE_RULE = {
  /** Requests that one side has at least: of fewer a single failure is five points or more. */
  requestsMin: 20,
  /** From 0 to 1, how much more must fail: below five points a bad hour of one provider looks alike. */
  differenceMin: 0.05,
  /** Failures that the side since then has at least: fewer come in one row by chance. */
  failedMin: 10,
  /** Pearson's chi-squared of the two sides: with each day tried, chance alone reached 15 on a version of the bench. */
  chiSquaredMin: 20,
  /** Days that are looked at, at least: a failure that is seen today has mostly begun before the window of a page. */
  daysMin: 28,
} as const;

/** How the requests of a side ended. Those whose caller hung up count as neither. */
export interface EndedRequests {
  readonly ok: number;
  readonly failed: number;
}

/** The requests of one version of a client on one day. */
export interface ClientDay extends EndedRequests {
  /** As `toClientVersion` has it; null where clients have no name, or stand together. */
  readonly client: string | null;
  /** Since 1970, UTC. */
  readonly day: number;
}

/** A version of a client that fails more often from a day on. */
export interface ClientChange {
  /** As `toClientVersion` has it, which requests are filtered by. */
  readonly client: string;
  readonly name: string;
  /** Null where the User-Agent has none. */
  readonly version: string | null;
  readonly sinceUs: InstantUs;
  readonly now: EndedRequests;
  /** Whose requests `before` counts: the version's own, or those of the client's other versions where it was never better. */
  readonly beforeOf: "version" | "client";
  readonly before: EndedRequests;
  /** All other clients since then: where as much of theirs fails, the cause is no client. */
  readonly elsewhere: EndedRequests;
}

/** `Continue/1.3.21 (linux)` → `Continue` and `1.3.21`: what stands before the first word that begins with a digit. */
const PRODUCT = /^(.+?)[/ ]v?(\d[\w.+-]*)/;

/** A User-Agent up to its first version, or all of it where it has none. */
export function toClientVersion(client: string | null): string | null {
  return client === null || client === "" ? null : (PRODUCT.exec(client)?.[0] ?? client);
}

function toProduct(client: string): { readonly name: string; readonly version: string | null } {
  const [, name = client, version = null] = PRODUCT.exec(client) ?? [];
  return { name, version };
}

/** The window of days that are looked at: whole ones, `daysMin` of them at least. */
export function toClientDays({ sinceUs, untilUs }: Window, nowUs: InstantUs): Window {
  if (sinceUs === null) return { sinceUs, untilUs };
  const earliestUs = Math.min(sinceUs, (untilUs ?? nowUs) - CLIENT_CHANGE_RULE.daysMin * DAY_US);
  return { sinceUs: Math.max(0, Math.floor(earliestUs / DAY_US) * DAY_US), untilUs };
}

interface Split {
  readonly day: number;
  readonly before: EndedRequests;
  readonly now: EndedRequests;
}

/**
 * The versions that fail more often than before, those with the most failures above it first. A version's days are split
 * where its two sides differ most (by chi-squared). Where the side before was bad already, compared with the client's other
 * versions on earlier days, the version was never better: it fails since its first day. Each day of a version occurs once;
 * a version without a failure from `sinceDay` on has stopped failing, and is left out.
 */
export function findClientChanges(
  days: readonly ClientDay[],
  sinceDay: number | null,
): readonly ClientChange[] {
  const sorted = days.toSorted((left, right) => left.day - right.day);
  const nameOf = ({ client }: ClientDay) => (client === null ? null : toProduct(client).name);
  const byName = Map.groupBy(sorted, nameOf);
  const found = [...Map.groupBy(sorted, ({ client }) => client)].flatMap(([client, own]) => {
    const isOver = !own.some(({ day, failed }) => failed > 0 && (sinceDay === null || day >= sinceDay));
    if (client === null || isOver) return [];
    const product = toProduct(client);
    const others = (byName.get(product.name) ?? []).filter((day) => day.client !== client);
    const split = findSplit(own);
    const debut = findDebut(own, others);
    const isNeverBetter = debut !== null && (split === null || isMore(split.before, debut.before));
    const chosen = isNeverBetter ? debut : split;
    if (chosen === null) return [];
    const { day, now, before } = chosen;
    const elsewhere = sum(sorted.filter((one) => one.day >= day && nameOf(one) !== product.name));
    const beforeOf = isNeverBetter ? ("client" as const) : ("version" as const);
    return [{ client, ...product, sinceUs: day * DAY_US, now, before, beforeOf, elsewhere }];
  });
  return found.toSorted(
    (left, right) => toExcess(right) - toExcess(left) || compareCodeUnits(left.client, right.client),
  );
}

/** The day from which on most more of a version's requests fail; null where no two sides differ enough. */
function findSplit(own: readonly ClientDay[]): Split | null {
  let best: Split | null = null;
  let now = sum(own);
  let before = sum([]);
  for (const day of own) {
    const split = { day: day.day, before, now };
    if (isRise(split) && (best === null || toChiSquared(split) > toChiSquared(best))) best = split;
    before = { ok: before.ok + day.ok, failed: before.failed + day.failed };
    now = { ok: now.ok - day.ok, failed: now.failed - day.failed };
  }
  return best;
}

/** All days of a version against the earlier ones of the client's other versions. */
function findDebut(own: readonly ClientDay[], others: readonly ClientDay[]): Split | null {
  const day = own[0]?.day ?? 0;
  const split = { day, now: sum(own), before: sum(others.filter((other) => other.day < day)) };
  return isRise(split) ? split : null;
}

function isRise(split: Split): boolean {
  const { failedMin, chiSquaredMin } = CLIENT_CHANGE_RULE;
  const isSure = split.now.failed >= failedMin && toChiSquared(split) >= chiSquaredMin;
  return isSure && isMore(split.now, split.before);
}

/** True when both sides have enough requests, and enough more of the former fail. */
function isMore(now: EndedRequests, before: EndedRequests): boolean {
  if (!isEnough(now) || !isEnough(before)) return false;
  return toRise({ now, before }) >= CLIENT_CHANGE_RULE.differenceMin;
}

function toRise({ now, before }: Omit<Split, "day">): number {
  return toFailedShare(now) - toFailedShare(before);
}

function isEnough(side: EndedRequests): boolean {
  return toEnded(side) >= CLIENT_CHANGE_RULE.requestsMin;
}

function toEnded({ ok, failed }: EndedRequests): number {
  return ok + failed;
}

/** From 0 to 1; of no requests 0. */
export function toFailedShare(side: EndedRequests): number {
  return side.failed / Math.max(1, toEnded(side));
}

function toChiSquared({ now, before }: Split): number {
  const [own, others] = [toEnded(now), toEnded(before)];
  const share = (now.failed + before.failed) / (own + others);
  return (toRise({ now, before }) ** 2 * own * others) / ((own + others) * share * (1 - share));
}

/** Failures beyond those that the share of before would have been. */
function toExcess({ now, before }: ClientChange): number {
  return now.failed - toFailedShare(before) * toEnded(now);
}

function sum(days: readonly EndedRequests[]): EndedRequests {
  return {
    ok: days.reduce((total, { ok }) => total + ok, 0),
    failed: days.reduce((total, { failed }) => total + failed, 0),
  };
}
