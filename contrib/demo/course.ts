import type { RequestEnd } from "#forward/proxied-request.ts";
import type { ReportedUsage } from "#usage/event.ts";
import { toLogNormal, type Chance } from "../../bench/chance.ts";
import { findPace } from "./catalogue.ts";
import type { Habit } from "./habits.ts";
import type { Failure } from "./trouble.ts";

/** The course of a request. Times count from its arrival. */
export interface Course {
  /** Null when no head of an answer comes. */
  readonly answer: { readonly statusCode: number; readonly firstByteUs: number } | null;
  readonly durationUs: number;
  readonly ending: RequestEnd;
}

const DURATION_US_MAX = 280_000_000;
/** Share of streams that their caller cancels. */
const CANCELLED_SHARE = 0.03;

/** A request that its upstream answers, or that its caller leaves. */
export function toCourse(
  chance: Chance,
  habit: Habit,
  { upstreamName, streamed }: { readonly upstreamName: string; readonly streamed: boolean },
): Course {
  const pace = findPace(upstreamName);
  const usage = toUsage(chance, habit);
  const outputSeconds = (usage.quantities.output_tokens ?? 0) / pace.tokensPerSecond;
  const headUs = toMicros(toLogNormal(chance, pace.firstByteMs, 0.45));
  const wholeUs = Math.min(
    headUs + Math.round(outputSeconds * (0.8 + 0.4 * chance()) * 1e6),
    DURATION_US_MAX,
  );
  // Unary, the first byte comes with the last.
  const firstByteUs = Math.min(streamed ? headUs : wholeUs - Math.round(wholeUs * 0.01), wholeUs);
  if (streamed && chance() < CANCELLED_SHARE) {
    const sawHead = chance() < 0.8;
    // An upstream tells what was used at the end of a stream; the messages dialect begins with its input.
    const isKnown = sawHead && habit.isRelayed === true;
    const partial = { ...usage, quantities: { ...usage.quantities, output_tokens: 1 } };
    return {
      answer: sawHead ? { statusCode: 200, firstByteUs } : null,
      durationUs: sawHead
        ? firstByteUs + Math.round((wholeUs - firstByteUs) * chance())
        : Math.round(headUs * chance()),
      ending: {
        kind: "cancelled",
        metered: sawHead ? { usage: isKnown ? partial : null, errorKind: null, complete: false } : null,
      },
    };
  }
  return {
    answer: { statusCode: 200, firstByteUs },
    durationUs: wholeUs,
    ending: { kind: "answered", metered: { usage, errorKind: null, complete: true } },
  };
}

/** A request that fails in this way, at the latest when the timeout is up. */
export function toFailedCourse(chance: Chance, failure: Failure, timeoutUs: number): Course {
  const drawnUs = Number.isFinite(failure.medianMs)
    ? toMicros(toLogNormal(chance, failure.medianMs, 0.4))
    : timeoutUs + Math.round(chance() * 40_000);
  const durationUs = Math.min(drawnUs, timeoutUs + 40_000);
  if (failure.kind === "unreachable") {
    return { answer: null, durationUs, ending: { kind: "unreachable", error: failure.error, metered: null } };
  }
  const { statusCode, errorKind } = failure;
  return {
    answer: { statusCode, firstByteUs: durationUs },
    durationUs,
    ending: { kind: "answered", metered: { usage: null, errorKind, complete: true } },
  };
}

function toUsage(chance: Chance, habit: Habit): ReportedUsage {
  const input = 1 + Math.round(toLogNormal(chance, habit.inputTokens, 0.7));
  const output = habit.outputTokens === 0 ? 0 : 1 + Math.round(toLogNormal(chance, habit.outputTokens, 0.8));
  const isCached = chance() < (habit.cached ?? 0);
  const cached = isCached
    ? Math.floor((input * (0.3 + 0.6 * chance())) / CACHE_BLOCK_TOKENS) * CACHE_BLOCK_TOKENS
    : 0;
  if (habit.isRelayed === true) {
    // A conversation is read from the cache again and again, and grows it.
    const quantities = {
      input_tokens: input,
      output_tokens: output,
      cached_input_tokens: cached * 24,
      cache_write_tokens: isCached ? Math.round(input * chance() * 3) : 0,
    };
    return { shape: "exclusive", quantities };
  }
  if (habit.endpoint === "embeddings") {
    return { shape: "inclusive", quantities: { input_tokens: input } };
  }
  const quantities = {
    input_tokens: input,
    output_tokens: output,
    ...(habit.cached === undefined ? {} : { cached_input_tokens: cached }),
    ...(habit.audioSeconds === undefined
      ? {}
      : { audio_seconds: Math.round(toLogNormal(chance, habit.audioSeconds, 0.6) * 10) / 10 }),
  };
  return { shape: "inclusive", quantities };
}

/** Upstreams cache prompts in blocks. */
const CACHE_BLOCK_TOKENS = 128;

function toMicros(ms: number): number {
  return Math.round(ms * 1000);
}
