import type { InstantUs } from "#kernel/clock.ts";
import type { ConnectionFailure } from "#kernel/system-code.ts";
import { type Paged, parseWord } from "#kernel/page.ts";
import type { AppliedPrices } from "#kernel/price-variants.ts";
import type { Pico } from "#kernel/units.ts";
import type { Outcome, ReportedUsage } from "#usage/event.ts";

/** A row of the request log: metadata and numbers as stored, never content. */
export interface RequestLogRow {
  /** UUIDv7. */
  readonly id: string;
  readonly arrivedAtUs: InstantUs;
  readonly principal: string;
  readonly keyId: string | null;
  readonly relayTokenId: string | null;
  /** The provider's internal id, or the relay's sentinel; the reader joins names from the catalog. */
  readonly providerId: string;
  readonly model: string | null;
  readonly upstreamName: string | null;
  readonly endpoint: string;
  readonly client: string | null;
  readonly statusCode: number;
  readonly outcome: Outcome;
  readonly errorKind: string | null;
  /** Why its upstream gave no answer, where that is known. */
  readonly failure?: ConnectionFailure | undefined;
  readonly streamed: boolean;
  readonly durationUs: number;
  readonly timeToFirstByteUs: number | null;
  readonly costPico: Pico | null;
  readonly usage: ReportedUsage | null;
  /** The service tier; absent for the standard one. */
  readonly tier?: string | undefined;
  /** The region of inference; absent for a standard one. */
  readonly geo?: string | undefined;
  readonly prices: AppliedPrices;
  /** The cost that the provider told; absent where it told none. */
  readonly costReportedPico?: Pico | undefined;
  readonly tags: readonly string[];
}

/** What was recorded since a cursor was given, newest first by arrival. */
export interface RecordedRows extends Paged<RequestLogRow> {
  /** Opaque; what is recorded from now on is asked for with it. */
  readonly cursor: string;
  /** True when the cursor is not known any more: there are no rows, and what was read before has to be read anew. */
  readonly hasGap: boolean;
}

/** Newest first, oldest first, or the largest first: what has no cost comes last, and of equals the newest first. */
export const LOG_ORDERS = ["newest", "oldest", "cost", "duration"] as const;
export type LogOrder = (typeof LOG_ORDERS)[number];

/** The query parameter `order` of the request log; newest first when absent or empty. Throws `invalid_request`. */
export function parseLogOrder(query: URLSearchParams): LogOrder {
  return parseWord(query, "order", LOG_ORDERS, "newest");
}
