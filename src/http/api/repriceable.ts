import type { Catalog } from "#catalog/catalog.ts";
import { type FeedDraft, parseFeed, toBackdatings } from "#catalog/feed.ts";
import type { Backdating, RepricedSpan } from "#catalog/held-price.ts";
import type { Model } from "#catalog/model.ts";
import { type Clock, parseInstant } from "#kernel/clock.ts";
import { EVERY_PROVIDER, filterBy } from "#stats/filter.ts";
import type { StatsStore } from "#stats/store.ts";
import type { Caller } from "#identity/caller.ts";

export interface RepriceableDeps {
  readonly catalog: Catalog;
  readonly clock: Pick<Clock, "nowUs">;
  readonly stats: Pick<StatsStore, "readSeries">;
}

/** Each time is a report of its own. */
const TIMES_COUNTED_MAX = 16;

/** The prices of an accepted feed that have a date. */
export function listBackdated(feed: FeedDraft): readonly Backdating[] {
  const isDated = feed.entries.some(
    (entry) => typeof entry === "object" && entry !== null && "effective_from" in entry,
  );
  return isDated ? toBackdatings(parseFeed(feed).entries) : [];
}

interface DatedPatch {
  readonly effective_from?: string | undefined;
  readonly pricing?: unknown;
  readonly price_variants?: unknown;
}

/** As `listBackdated`, of an accepted change of a model. */
export function listBackdatedOf({ id, alias }: Model, patch: DatedPatch): readonly Backdating[] {
  const fromUs = parseInstant(patch.effective_from ?? "");
  if (fromUs === null) return [];
  const covers: Backdating["covers"] = (_, when) =>
    (when === null ? patch.pricing : patch.price_variants) !== undefined;
  const hasVariants = patch.price_variants !== undefined;
  return [{ name: alias, modelId: id, fromUs, covers, hasVariants }];
}

/**
 * Counts the requests that a re-pricing would price again: of each name while it had one of the prices that are dated back.
 * Nothing where no date is past. Never throws: the change is made, and a client must not take it for one that failed.
 */
export async function countRepriceable(
  { catalog, clock, stats }: RepriceableDeps,
  dated: readonly Backdating[],
  { request, caller }: { readonly request: Request; readonly caller: Caller },
): Promise<{ readonly repriceable_requests?: number }> {
  const nowUs = clock.nowUs();
  const past = dated.filter(({ fromUs }) => fromUs <= nowUs);
  if (past.length === 0) return {};
  try {
    const spans = await catalog.listRepriced(past, nowUs);
    const byTime = Map.groupBy(spans, ({ fromUs, untilUs }) => `${fromUs} ${untilUs}`);
    if (byTime.size > TIMES_COUNTED_MAX) return {};
    const count = async (ofTime: readonly RepricedSpan[]) => {
      const [{ fromUs: sinceUs, untilUs } = { fromUs: nowUs, untilUs: nowUs }] = ofTime;
      const query = {
        window: { sinceUs, untilUs },
        filter: filterBy({ models: ofTime.map(({ name }) => name) }),
        providers: EVERY_PROVIDER,
        principalId: null,
        bucket: "month",
        nowUs,
      } as const;
      const options = { signal: request.signal, askerId: caller.principal.id };
      const { buckets } = await stats.readSeries(query, options);
      return buckets.reduce((sum, { requests }) => sum + requests, 0);
    };
    let total = 0;
    for (const ofTime of byTime.values()) total += await count(ofTime);
    return { repriceable_requests: total };
  } catch {
    return {};
  }
}
