import { Elysia } from "elysia";
import type { Catalog } from "#catalog/catalog.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { Guard } from "#http/guard.ts";
import { pageView } from "#http/paging.ts";
import { toRequestView } from "#http/views.ts";
import type { IdentityStore } from "#identity/store.ts";
import { parsePage } from "#kernel/page.ts";
import { DELETED_PROVIDER, parseUsageFilter, toProviderIds } from "#stats/filter.ts";
import type { StatsStore } from "#stats/store.ts";
import { parseWindow } from "#stats/window.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";

export interface RequestLogDeps {
  readonly catalog: Catalog;
  readonly identity: Pick<IdentityStore, "findKeyLabels">;
  readonly stats: StatsStore;
}

/** The request metadata log (specification, section 4.6; rows from the decisions, "Reports"). Never content. */
export function requestRoutes(guard: Guard, deps: RequestLogDeps) {
  const { catalog, identity, stats } = deps;
  return new Elysia({ prefix: "/admin/v1" }).use(guard).get(
    "/requests",
    async ({ request }) => {
      const query = new URL(request.url).searchParams;
      const page = parsePage({ limit: query.get("limit"), offset: query.get("offset") });
      const { provider, ...filter } = parseUsageFilter(query);
      const window = parseWindow(query);
      const snapshot = await catalog.snapshot();
      const providers = toProviderIds(provider, snapshot.providers);
      const { rows, total } = await stats.listRequests({ window, filter, providers }, page);
      const labels = await identity.findKeyLabels(rows.flatMap(({ keyId }) => keyId ?? []));
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
