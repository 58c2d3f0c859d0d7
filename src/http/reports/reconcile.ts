import {
  type Bill,
  BILL_BODY_BYTES_MAX,
  type Day,
  clipBill,
  isBilledBy,
  parseBillFormat,
  toVendor,
} from "#bills/bill.ts";
import type { Billed } from "#bills/reconciliation.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { toProviderNotFound } from "#catalog/provider.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import { route } from "#http/door/route.ts";
import { MODEL, UNITS } from "#http/schemas/examples.ts";
import { Reconciliation } from "#http/schemas/reports.ts";
import { ReconcileRequest } from "#http/schemas/requests.ts";
import { DAY_US } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { parseWindow } from "#stats/bucket.ts";
import { EVERY_PROVIDER, filterBy, toProviderIds } from "#stats/filter.ts";
import type { StatsStore, UpstreamDays } from "#stats/store.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { toReconciliationView } from "#views/bills.ts";
import { reportAnswer } from "./declared.ts";
import { type Asking, toJsonReport, toReportOptions } from "./report.ts";

interface ReconcileDeps {
  readonly catalog: Catalog;
  readonly stats: Pick<StatsStore, "readUpstreamDays">;
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
        const { map = {}, provider } = body;
        const format = body.format === undefined ? undefined : parseBillFormat(body.format);
        // Loaded once somebody asks: most processes never do.
        const { readBill } = await import("#bills/read-bill.ts");
        const { reconcile } = await import("#bills/reconciliation.ts");
        const bills = clipBills(
          body.files.map((file) => readBill(file, { format, map })),
          body,
        );
        const snapshot = await catalog.snapshot();
        const parts: (Billed & Pick<UpstreamDays, "snapped" | "truncated">)[] = [];
        const names: (readonly string[] | null)[] = [];
        for (const [vendor, ofVendor] of Map.groupBy(bills, (bill) => toVendor(bill.format))) {
          const providers = provider === undefined ? findProviders(vendor, snapshot) : [provider];
          if (provider !== undefined) refuseUnknown(provider, snapshot);
          const ledger = await readLedger(
            stats,
            { bills: ofVendor, providers, snapshot },
            { request, caller },
          );
          parts.push({ bills: ofVendor, ledger: ledger.days, snapped: ledger.snapped, truncated: false });
          names.push(providers);
        }
        const providers = names.includes(null) ? null : [...new Set(names.flatMap((some) => some ?? []))];
        const view = toReconciliationView({ ...reconcile(parts), bills, providers });
        const snapped = parts.find((part) => part.snapped !== null)?.snapped ?? null;
        return toJsonReport(view, { snapped, truncated: false });
      },
    }),
  ] as const;
}

interface Bounds {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

/** The bills of whole days: the one that `since` lies in, up to the one before `until`. Throws `invalid_date` and `invalid_request`. */
function clipBills(bills: readonly Bill[], { since = "", until = "" }: Bounds): readonly Bill[] {
  const { sinceUs, untilUs } = parseWindow(new URLSearchParams({ since, until }));
  const toDay = (instantUs: number | null, round: (days: number) => Day) =>
    instantUs === null ? null : round(instantUs / DAY_US);
  const window = { fromDay: toDay(sinceUs, Math.floor), endDay: toDay(untilUs, Math.ceil) };
  const clipped = bills.flatMap((bill) => clipBill(bill, window) ?? []);
  if (clipped.length > 0) return clipped;
  throw new ProxyError(
    "invalid_request",
    "The files tell of no day of this window: choose another since or until.",
    {
      param: since === "" ? "until" : "since",
    },
  );
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

interface Wanted {
  readonly bills: readonly Bill[];
  readonly providers: readonly string[] | null;
  readonly snapshot: CatalogSnapshot;
}

async function readLedger(
  stats: ReconcileDeps["stats"],
  { bills, providers, snapshot }: Wanted,
  asking: Asking,
): Promise<UpstreamDays> {
  const window = {
    sinceUs: Math.min(...bills.map(({ firstDay }) => firstDay)) * DAY_US,
    untilUs: (Math.max(...bills.map(({ lastDay }) => lastDay)) + 1) * DAY_US,
  };
  const query = {
    window,
    filter: filterBy({}),
    providers: providers === null ? EVERY_PROVIDER : toProviderIds(providers, snapshot.providers),
    principalId: null,
  };
  return await stats.readUpstreamDays(query, toReportOptions(asking));
}
