import type { InstantUs } from "#kernel/clock.ts";
import { RELAY_PROVIDER, type TransportError } from "#usage/event.ts";
import { toErrorKind } from "#usage/meter.ts";
import { createWeighted, type Chance } from "../../bench/chance.ts";
import { isWorkingDay, DAY_US, HOUR_US } from "./simulated-time.ts";

/** A way in which a provider fails a request. */
export type Failure =
  | {
      readonly kind: "answered";
      readonly statusCode: number;
      readonly errorKind: string;
      readonly medianMs: number;
    }
  | { readonly kind: "unreachable"; readonly error: TransportError; readonly medianMs: number };

/** Failures with the share of all requests that each takes. */
type Risks = readonly (readonly [share: number, failure: Failure])[];

const rateLimit = refuse(429, { error: { type: "rate_limit_error" } }, 140);
const openaiRateLimit = refuse(429, { error: { type: "tokens", code: "rate_limit_exceeded" } }, 90);
const tooLong = refuse(
  400,
  { error: { type: "invalid_request_error", code: "context_length_exceeded" } },
  210,
);
const invalid = refuse(400, { error: { type: "invalid_request_error" } }, 120);
const serverError = refuse(500, { error: { type: "server_error" } }, 2_400);
const noCapacity = refuse(503, "upstream connect error", 900);
const overloaded = refuse(529, { type: "error", error: { type: "overloaded_error" } }, 1_100);
/** The head said 200 before the stream broke. */
const brokenStream = refuse(200, { error: { code: 502 } }, 6_500);
const timeout: Failure = { kind: "unreachable", error: "timeout", medianMs: Number.POSITIVE_INFINITY };
const refused: Failure = { kind: "unreachable", error: "connection_error", medianMs: 4 };
const unroutable: Failure = { kind: "unreachable", error: "connection_error", medianMs: 5_010 };

const USUAL: { readonly [provider: string]: Risks } = {
  openai: [
    [0.006, openaiRateLimit],
    [0.003, tooLong],
    [0.002, serverError],
  ],
  openrouter: [
    [0.012, rateLimit],
    [0.004, invalid],
    [0.003, brokenStream],
    [0.002, noCapacity],
  ],
  "vllm-lab": [
    [0.004, invalid],
    [0.002, tooLong],
  ],
  // A machine under a desk, which sleeps now and then.
  "ollama-desk": [
    [0.07, unroutable],
    [0.02, timeout],
  ],
  together: [
    [0.03, rateLimit],
    [0.01, noCapacity],
  ],
  [RELAY_PROVIDER]: [
    [0.008, overloaded],
    [0.006, rateLimit],
    [0.002, invalid],
  ],
};

/** A time in which a provider failed most of what it was asked. */
export interface Incident {
  readonly provider: string;
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
  readonly risks: Risks;
}

/** Three hours of a working day without `openrouter`, and the day after it twelve minutes without the lab's server. */
export function toIncidents({
  fromUs,
  untilUs,
}: {
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
}): readonly Incident[] {
  const outageUs = findOutageDay({ fromUs, untilUs }) + OUTAGE_HOUR * HOUR_US;
  const restartUs = Math.floor(untilUs / DAY_US) * DAY_US - DAY_US + RESTART_HOUR * HOUR_US;
  return [
    {
      provider: "openrouter",
      fromUs: outageUs,
      untilUs: outageUs + OUTAGE_HOURS * HOUR_US,
      risks: [
        [0.45, rateLimit],
        [0.3, timeout],
        [0.1, noCapacity],
      ],
    },
    {
      provider: "vllm-lab",
      fromUs: restartUs,
      untilUs: restartUs + RESTART_HOURS * HOUR_US,
      risks: [[0.95, refused]],
    },
  ];
}

const OUTAGE_HOUR = 13;
const OUTAGE_HOURS = 3;
const RESTART_HOUR = 10.5;
const RESTART_HOURS = 0.2;
/** The outage is over for at least as long, so that "the last 24 hours" and "the last 7 days" tell different stories. */
const OUTAGE_AGE_DAYS = 2;

/** The start of the last working day that is old enough; of any day when none is in the span. */
function findOutageDay({
  fromUs,
  untilUs,
}: {
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
}): InstantUs {
  const lastUs = (Math.floor(untilUs / DAY_US) - OUTAGE_AGE_DAYS) * DAY_US;
  for (let dayUs = lastUs; dayUs + OUTAGE_HOUR * HOUR_US > fromUs; dayUs -= DAY_US) {
    if (isWorkingDay(dayUs)) return dayUs;
  }
  return lastUs;
}

/** The incident of that provider at that instant; null when all is well with it. */
export function findIncident(
  incidents: readonly Incident[],
  { provider, atUs }: { readonly provider: string; readonly atUs: InstantUs },
): Incident | null {
  return (
    incidents.find(
      (incident) => incident.provider === provider && atUs >= incident.fromUs && atUs < incident.untilUs,
    ) ?? null
  );
}

/** The failure of this request; null when there is none. */
export function drawFailure(chance: Chance, provider: string, incident: Incident | null): Failure | null {
  const risks = incident?.risks ?? USUAL[provider] ?? [];
  const shares = risks.map(([share]) => share);
  const wellShare = 1 - shares.reduce((sum, share) => sum + share, 0);
  const drawn = createWeighted([...shares, wellShare])(chance);
  return risks[drawn]?.[1] ?? null;
}

/** An upstream's error answer, its kind read off the body as the data plane reads it. */
function refuse(statusCode: number, body: unknown, medianMs: number): Failure {
  return { kind: "answered", statusCode, errorKind: toErrorKind(statusCode, body), medianMs };
}
