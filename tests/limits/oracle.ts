import type { Limit, LimitedRequest } from "#limits/limit.ts";

/** What happened, as a person would write it down. */
export interface OracleRequest extends LimitedRequest {
  readonly arrivedAtUs: number;
  /** Null while it is under way. */
  endedAtUs: number | null;
  costPico: bigint;
  tokens: number;
  /** Those of `tokens` that were read from a cache. */
  cachedTokens: number;
  /** It ended, and its usage was not told. */
  isUntold: boolean;
}

const MINUTE_US = 60e6;
const SLIDING: { readonly [window: string]: readonly [lengthUs: number, stepUs: number] } = {
  minute: [MINUTE_US, 10_000],
  hour: [60 * MINUTE_US, 1_000_000],
};

/**
 * Whether a limit refuses a request now, from nothing but the list of what happened: the rules of `docs/spec/limits.md` a
 * second time, on purpose, without a sum that is kept.
 */
export function isRefused(
  limit: Limit,
  asked: LimitedRequest,
  { nowUs, requests }: { readonly nowUs: number; readonly requests: readonly OracleRequest[] },
): boolean {
  if (!limit.enabled || !holdsFor(limit, asked)) return false;
  const alike = requests.filter((one) => holdsFor(limit, one) && eachOf(limit, one) === eachOf(limit, asked));
  const underWay = alike.filter(({ endedAtUs }) => endedAtUs === null);
  if (limit.measure === "concurrent") return BigInt(underWay.length) >= limit.amount;
  const isSliding = limit.window === "minute" || limit.window === "hour";
  let [used, untold] = [0n, 0];
  for (const one of alike) {
    const atUs = limit.measure === "requests" && isSliding ? one.arrivedAtUs : one.endedAtUs;
    if (atUs === null || !isWithin(limit, atUs, nowUs)) continue;
    used += amountOf(limit.measure, one);
    if (one.isUntold) untold += 1;
  }
  if (limit.measure === "requests" && !isSliding) used += BigInt(underWay.length);
  return used >= limit.amount || (limit.unknownMax !== null && untold >= limit.unknownMax);
}

function amountOf(measure: Limit["measure"], { costPico, tokens, cachedTokens }: OracleRequest): bigint {
  if (measure === "requests") return 1n;
  if (measure === "cost") return costPico;
  return BigInt(measure === "tokens" ? tokens : tokens - cachedTokens);
}

function isWithin({ window }: Limit, atUs: number, nowUs: number): boolean {
  if (window === null || window === "total") return true;
  const [lengthUs, stepUs] = SLIDING[window] ?? [0, 0];
  if (lengthUs > 0) {
    const step = Math.floor(atUs / stepUs);
    return step > Math.floor((nowUs - lengthUs) / stepUs) && step * stepUs <= nowUs;
  }
  return nameOf(window, atUs) === nameOf(window, nowUs);
}

/** The calendar window that an instant lies in, by a name that no other window has. */
function nameOf(window: string, atUs: number): string {
  const date = new Date(Math.floor(atUs / 1000));
  const day = date.toISOString().slice(0, 10);
  if (window === "day") return day;
  if (window === "month") return day.slice(0, 7);
  const monday = new Date(`${day}T00:00:00Z`);
  while (monday.getUTCDay() !== 1) monday.setUTCDate(monday.getUTCDate() - 1);
  return monday.toISOString().slice(0, 10);
}

function holdsFor(limit: Limit, one: LimitedRequest): boolean {
  const { subject, model, each, fixed, measure, window } = limit;
  const usesNothing = /^responses\/(?!compact)|\/count_tokens$/.test(one.endpoint);
  const isPace = measure === "concurrent" || (measure === "requests" && /^(minute|hour)$/.test(window ?? ""));
  if (usesNothing && !isPace) return false;
  if (one.endpoint === "moderation" && (measure === "tokens" || measure === "uncached_tokens")) return false;
  const tags = fixed ? one.fixedTags : one.tags;
  if (model !== null && one.model !== model) return false;
  if (each?.kind === "key" && one.keyId === null) return false;
  if (each?.kind === "tag" && !tags.some((tag) => tag.split(":")[0] === each.key)) return false;
  if (subject.kind === "principal") return one.principalId === subject.id;
  if (subject.kind === "key") return one.keyId === subject.id;
  if (subject.kind === "relay_token") return one.relayTokenId === subject.id;
  return subject.kind === "tag" ? tags.includes(subject.pair) : true;
}

function eachOf({ each, fixed }: Limit, one: LimitedRequest): string {
  if (each === null) return "";
  if (each.kind === "principal") return one.principalId;
  if (each.kind === "key") return one.keyId ?? "";
  return (fixed ? one.fixedTags : one.tags).find((tag) => tag.split(":")[0] === each.key) ?? "";
}
