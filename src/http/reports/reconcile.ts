import { BILL_BODY_BYTES_MAX, BILL_FORMATS, isBilledBy, parseBillFormat, toVendor } from "#bills/bill.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { toProviderNotFound } from "#catalog/provider.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import { route } from "#http/door/route.ts";
import { MODEL, UNITS } from "#http/schemas/examples.ts";
import { Reconciliation } from "#http/schemas/reports.ts";
import { ReconcileRequest } from "#http/schemas/requests.ts";
import { DAY_US } from "#kernel/clock.ts";
import { parseWindow } from "#stats/bucket.ts";
import { toProviderIds } from "#stats/filter.ts";
import type { StatsStore } from "#stats/store.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { toReconciliationView } from "#views/bills.ts";
import { reportAnswer } from "./declared.ts";
import { toJsonReport, toReportOptions } from "./report.ts";

interface ReconcileDeps {
  readonly catalog: Catalog;
  readonly stats: Pick<StatsStore, "reconcile">;
}

const FILE = {
  name: "usage.csv",
  text: `day,model,requests,cost\n2026-03-11,${MODEL.upstream_name},12,0.0048\n`,
};
const UPSTREAM = MODEL.upstream_name;

/** A provider's bill against the ledger (specification of money, section 5). Nothing that is sent is kept. */
export function reconcileRoutes({ catalog, stats }: ReconcileDeps) {
  return [
    route({
      method: "POST",
      path: "/admin/v1/reconcile",
      tag: "Reports",
      access: "admin",
      summary: "Hold a provider's usage and costs against what was recorded",
      description:
        "Exports of OpenAI (usage of completions and embeddings, costs), Anthropic (messages usage report, cost report), OpenRouter (activity) and Azure (cost details), as JSON or CSV, are recognised by their columns; any other CSV by `map`. Compared by UTC day, upstream model and tier, as far as the files tell these apart. Without `provider`, usage of the providers whose base URL is the vendor's counts, and of Anthropic the relay's; of all where there is none. The files are read and dropped: nothing of them is stored.",
      body: ReconcileRequest,
      bodyBytesMax: BILL_BODY_BYTES_MAX,
      example: {
        files: [FILE],
        map: { date: "day", model: "model", requests: "requests", cost: "cost" },
      },
      answer: reportAnswer(Reconciliation, {
        agrees: false,
        counts: { equal: 0, within: 0, lockport_more: 0, bill_more: 1, only_here: 0, only_there: 0 },
        since: "2026-03-11",
        until: "2026-03-12",
        providers: ["openai"],
        files: [{ name: FILE.name, format: "csv", rows: 1, skipped_rows: 0 }],
        total: { here: 0.004, there: 0.0048 },
        lines: [
          {
            compared_with: "bill",
            day: "2026-03-11",
            model: UPSTREAM,
            billed_as: [`${UPSTREAM}-2025-08-07`],
            tier: "standard",
            kind: "bill_more",
            here: { requests: 10, units: UNITS, cost: 0.004, unpriced_requests: 2, unmetered_requests: 0 },
            there: { requests: 12, units: UNITS, cost: 0.0048 },
            reasons: [{ code: "unpriced", text: "2 requests used a unit that has no price here." }],
          },
        ],
      }),
      errors: ["invalid_bill", "invalid_date", "provider_not_found", "range_too_large", "reports_busy"],
      run: async ({ body, request, caller }) => {
        const { files, map, provider, ...rest } = body;
        const format = rest.format === undefined ? undefined : parseBillFormat(rest.format);
        const days = parseDays(rest);
        const snapshot = await catalog.snapshot();
        if (provider !== undefined) refuseUnknown(provider, snapshot);
        const namesOf = new Map(
          VENDORS.map((vendor) => [
            vendor,
            provider === undefined ? findProviders(vendor, snapshot) : [provider],
          ]),
        );
        const providersOf = Object.fromEntries(
          [...namesOf].map(([vendor, names]) => [vendor, toProviderIds(names, snapshot.providers)]),
        );
        const query = { files, format, map, ...days, providersOf };
        const found = await stats.reconcile(query, toReportOptions({ request, caller }));
        const compared = [...new Set(found.bills.map((bill) => toVendor(bill.format)))].map(
          (vendor) => namesOf.get(vendor) ?? null,
        );
        const providers = compared.includes(null)
          ? null
          : [...new Set(compared.flatMap((names) => names ?? []))];
        return toJsonReport(toReconciliationView({ ...found, providers }), found);
      },
    }),
  ] as const;
}

const VENDORS = [...new Set(BILL_FORMATS.map(toVendor))];

/** Whole days: the one that `since` lies in, up to the one before `until`. Throws `invalid_date`. */
function parseDays({ since = "", until = "" }: { readonly since?: string; readonly until?: string }) {
  const { sinceUs, untilUs } = parseWindow(new URLSearchParams({ since, until }));
  return {
    fromDay: sinceUs === null ? null : Math.floor(sinceUs / DAY_US),
    endDay: untilUs === null ? null : Math.ceil(untilUs / DAY_US),
  };
}

/** The providers whose requests are on a vendor's bill; null for all. */
function findProviders(vendor: string, { providers }: CatalogSnapshot): readonly string[] | null {
  const named = providers.filter(({ baseUrl }) => isBilledBy(vendor, baseUrl)).map(({ name }) => name);
  if (vendor === "anthropic") return [...named, RELAY_PROVIDER];
  return named.length === 0 ? null : named;
}

function refuseUnknown(name: string, snapshot: CatalogSnapshot): void {
  if (name === RELAY_PROVIDER || snapshot.findProvider(name) !== null) return;
  throw toProviderNotFound(snapshot, name, "provider");
}
