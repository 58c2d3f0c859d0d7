import type { InstantUs } from "#kernel/clock.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { PriceSet, Pico, Quantities } from "#kernel/units.ts";
import type { Outcome } from "#usage/event.ts";
import type { ProviderIds, UsageFilter, Window } from "./filter.ts";

/** A row of the request log: metadata and numbers as stored, never content. */
export interface RequestLogRow {
  /** UUIDv7. */
  readonly id: string;
  readonly arrivedAtUs: InstantUs;
  readonly principal: string;
  readonly keyId: string | null;
  readonly relayTokenId: string | null;
  /** The provider's internal id, or the relay's sentinel; names are joined by whoever knows the catalog. */
  readonly providerId: string;
  readonly model: string | null;
  readonly upstreamName: string | null;
  readonly endpoint: string;
  readonly client: string | null;
  readonly statusCode: number;
  readonly outcome: Outcome;
  readonly errorKind: string | null;
  readonly streamed: boolean;
  readonly durationUs: number;
  readonly timeToFirstByteUs: number | null;
  readonly costPico: Pico | null;
  readonly quantities: Quantities;
  readonly prices: PriceSet;
  readonly tags: readonly string[];
}

export interface StatsQuery {
  readonly window: Window;
  readonly filter: Omit<UsageFilter, "provider">;
  /** `include: null` is every provider but the excluded ones: `(deleted)` excludes all that exist and the relay. */
  readonly providers: ProviderIds;
}

/** Reports over the ledger, read away from the data plane on a read-only connection. */
export interface StatsStore {
  /** Newest first, with the exact total. */
  listRequests(query: StatsQuery, page: Page): Promise<Paged<RequestLogRow>>;
}
