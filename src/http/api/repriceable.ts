import type { Catalog } from "#catalog/catalog.ts";
import { type Clock, parseInstant } from "#kernel/clock.ts";
import { EVERY_PROVIDER, filterBy } from "#stats/filter.ts";
import type { StatsStore } from "#stats/store.ts";
import type { Caller } from "#identity/caller.ts";

export interface RepriceableDeps {
  readonly catalog: Catalog;
  readonly clock: Pick<Clock, "nowUs">;
  readonly stats: Pick<StatsStore, "readSeries">;
}

/** Prices of a name that were written with a date, as it was sent. */
interface DatedName {
  readonly name: string;
  readonly effectiveFrom: string;
}

/** Names of feed lines that were accepted with a date. */
export function listDated(entries: readonly unknown[]): readonly DatedName[] {
  return entries.flatMap((entry) => {
    if (typeof entry !== "object" || entry === null) return [];
    const name: unknown = Reflect.get(entry, "model");
    const effectiveFrom: unknown = Reflect.get(entry, "effective_from");
    return typeof name === "string" && typeof effectiveFrom === "string" ? [{ name, effectiveFrom }] : [];
  });
}

/**
 * Counts the requests that were recorded at other prices than those that are dated back: of the names, and of the models that
 * have their prices from them. Nothing where no date is past.
 */
export async function countRepriceable(
  { catalog, clock, stats }: RepriceableDeps,
  dated: readonly DatedName[],
  { request, caller }: { readonly request: Request; readonly caller: Caller },
): Promise<{ readonly repriceable_requests?: number }> {
  const nowUs = clock.nowUs();
  const past = dated.flatMap(({ name, effectiveFrom }) => {
    const fromUs = parseInstant(effectiveFrom);
    return fromUs === null || fromUs > nowUs ? [] : [{ name, fromUs }];
  });
  if (past.length === 0) return {};
  const names = new Set(past.map(({ name }) => name));
  const { models } = await catalog.snapshot();
  for (const { model, bound, upstreamName } of models)
    if (names.has(bound.alias) || names.has(upstreamName)) names.add(model.alias);
  const sinceUs = past.reduce((first, { fromUs }) => Math.min(first, fromUs), nowUs);
  const query = {
    window: { sinceUs, untilUs: nowUs },
    filter: filterBy({ models: [...names] }),
    providers: EVERY_PROVIDER,
    principalId: null,
    bucket: "month",
    nowUs,
  } as const;
  const { buckets } = await stats.readSeries(query, {
    signal: request.signal,
    askerId: caller.principal.id,
  });
  return { repriceable_requests: buckets.reduce((sum, { requests }) => sum + requests, 0) };
}
