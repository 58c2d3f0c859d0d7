import { type Paged, parseWord } from "#kernel/page.ts";
import type { UsageEvent } from "#usage/event.ts";

/**
 * A row of the request log: metadata and numbers as stored, never content. The reader joins names of providers from the catalog.
 */
export interface RequestLogRow extends Omit<
  UsageEvent,
  "principalId" | "principalName" | "fixedTags" | "unpriced"
> {
  /** UUIDv7. */
  readonly id: string;
  readonly principal: string;
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
