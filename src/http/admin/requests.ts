import { Elysia } from "elysia";
import type { Catalog } from "#catalog/catalog.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { Guard } from "#http/guard.ts";
import { pageView } from "#http/paging.ts";
import { toRequestView } from "#http/views.ts";
import type { Keys } from "#identity/keys.ts";
import { PAGE_LIMIT_MAX, parsePage } from "#kernel/page.ts";
import { DELETED_PROVIDER, parseUsageFilter, toProviderIds } from "#stats/filter.ts";
import type { RequestLogRow, StatsStore } from "#stats/store.ts";
import { parseWindow } from "#stats/window.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import type { UsageLedger } from "#usage/store.ts";

export interface RequestLogDeps {
  readonly catalog: Catalog;
  readonly keys: Pick<Keys, "list">;
  readonly stats: StatsStore;
  readonly ledger: Pick<UsageLedger, "flush">;
}

/** A report waits this long for what has just ended; a ledger that cannot write does not keep it from being read. */
const FRESHNESS_WAIT_MS_MAX = 1_000;

/** The request metadata log (specification, section 4.6; rows from the decisions, "Reports"). Never content. */
export function requestRoutes(guard: Guard, deps: RequestLogDeps) {
  const { catalog, keys, stats, ledger } = deps;
  return new Elysia({ prefix: "/admin/v1" }).use(guard).get(
    "/requests",
    async ({ request }) => {
      const query = new URL(request.url).searchParams;
      const page = parsePage({ limit: query.get("limit"), offset: query.get("offset") });
      const { provider, ...filter } = parseUsageFilter(query);
      const window = parseWindow(query);
      const snapshot = await catalog.snapshot();
      await waitForFlush(ledger);
      const providers = toProviderIds(provider, snapshot.providers);
      const { rows, total } = await stats.listRequests({ window, filter, providers }, page);
      const labels = await findKeyLabels(keys, rows);
      return {
        requests: rows.map((row) =>
          toRequestView(row, {
            provider: toProviderName(snapshot, row.providerId),
            keyLabel: row.keyId === null ? null : (labels.get(row.keyId) ?? null),
          }),
        ),
        ...pageView(page, total),
      };
    },
    { access: "admin" },
  );
}

function toProviderName(snapshot: CatalogSnapshot, providerId: string): string {
  if (providerId === RELAY_PROVIDER) return RELAY_PROVIDER;
  return snapshot.findProviderById(providerId)?.name ?? DELETED_PROVIDER;
}

/** Labels of living keys by id; page by page, until each key that the rows name is found or the keys end. */
async function findKeyLabels(
  keys: Pick<Keys, "list">,
  rows: readonly RequestLogRow[],
): Promise<ReadonlyMap<string, string>> {
  const wanted = new Set(rows.flatMap((row) => row.keyId ?? []));
  const labels = new Map<string, string>();
  for (let offset = 0; labels.size < wanted.size; offset += PAGE_LIMIT_MAX) {
    const page = await keys.list({}, { limit: PAGE_LIMIT_MAX, offset });
    for (const key of page.rows) if (wanted.has(key.id)) labels.set(key.id, key.label);
    if (page.rows.length < PAGE_LIMIT_MAX) break;
  }
  return labels;
}

/** What ended before this call can then be read; a failure to write is the ledger's to tell, not the report's. */
async function waitForFlush(ledger: Pick<UsageLedger, "flush">): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, FRESHNESS_WAIT_MS_MAX);
  try {
    await Promise.race([ledger.flush().catch(() => undefined), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
