import { type Outcome, type TransportError, STATUS_CANCELLED } from "#usage/event.ts";
import type { ConnectionFailure } from "#kernel/connection-failure.ts";
import type { MeterReading } from "#usage/meter.ts";

/** What kept an upstream's answer from coming whole. */
export interface Breach {
  /** Its class, which the caller is told as well. */
  readonly error: TransportError;
  /** Why, where that is known: for the operator alone. */
  readonly failure?: ConnectionFailure | undefined;
}

/** How an exchange ended, as the data plane saw it. The usage event's outcome follows from it and from what was metered. */
export type AccountEnding =
  /** The upstream's response ended as it should, whatever it said. */
  | { readonly kind: "answered"; readonly metered: MeterReading }
  | ({ readonly kind: "unreachable"; readonly metered: MeterReading | null } & Breach)
  | { readonly kind: "cancelled"; readonly metered: MeterReading | null };

export interface ClassifiedOutcome {
  readonly outcome: Outcome;
  readonly statusCode: number;
  readonly errorKind: string | null;
  readonly failure?: ConnectionFailure | undefined;
}

const STATUS_UNREACHABLE = 502;

/** Outcome, status and error kind (specification, section 2.10; decisions, "Usage and prices" and "Reports"). */
export function classifyOutcome(ending: AccountEnding, upstreamStatus: number | null): ClassifiedOutcome {
  const { kind, metered } = ending;
  if (kind === "unreachable")
    return {
      outcome: kind,
      statusCode: STATUS_UNREACHABLE,
      errorKind: ending.error,
      failure: ending.failure,
    };
  // A caller that leaves after the last event, or after an error event, has had its answer.
  const errorKind = metered?.errorKind ?? null;
  const statusCode = upstreamStatus ?? STATUS_CANCELLED;
  if (kind === "cancelled" && errorKind === null && metered?.complete !== true) {
    return { outcome: "cancelled", statusCode, errorKind: null };
  }
  if (errorKind === null && statusCode < 400 && metered?.response?.status === "cancelled")
    return { outcome: "cancelled", statusCode, errorKind: null };
  if (statusCode >= 400)
    return { outcome: "upstream_error", statusCode, errorKind: errorKind ?? `http_${statusCode}` };
  return { outcome: errorKind === null ? "ok" : "upstream_error", statusCode, errorKind };
}

/** How a response ended that was made in the background, by what was told of its terminal status. */
export function toOutcome({
  errorKind,
  response,
}: MeterReading): Pick<ClassifiedOutcome, "outcome" | "errorKind"> {
  const status = response?.status ?? null;
  if (status === "cancelled") return { outcome: "cancelled", errorKind: null };
  if (status === "failed") return { outcome: "upstream_error", errorKind: errorKind ?? status };
  return { outcome: errorKind === null ? "ok" : "upstream_error", errorKind };
}
