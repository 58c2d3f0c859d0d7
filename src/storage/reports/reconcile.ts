import { type Bill, toSummary, toVendor } from "#bills/bill.ts";
import { readBills } from "#bills/read-bill.ts";
import { type Billed, reconcile } from "#bills/reconciliation.ts";
import { DAY_US } from "#kernel/clock.ts";
import { EVERY_PROVIDER, filterBy } from "#stats/filter.ts";
import type { BillQuery, ComparedBills, ReportNotes } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import { readUpstreamDays } from "./upstream-days.ts";

/**
 * `StatsStore.reconcile`: files are parsed where the ledger is read, since 8 MiB of rows take two seconds, in which the thread
 * that serves would answer nobody.
 */
export function* reconcileBills({ providersOf, ...files }: BillQuery): Script<ComparedBills> {
  const bills = readBills(files);
  const parts: Billed[] = [];
  let snapped: ReportNotes["snapped"] = null;
  for (const [vendor, ofVendor] of Map.groupBy(bills, ({ format }) => toVendor(format))) {
    const providers = providersOf[vendor] ?? EVERY_PROVIDER;
    const query = { window: toWindow(ofVendor), filter: filterBy({}), providers, principalId: null };
    const found = yield* readUpstreamDays(query);
    parts.push({ bills: ofVendor, ledger: found.days });
    snapped ??= found.snapped;
  }
  return { ...reconcile(parts), bills: bills.map(toSummary), snapped, truncated: false };
}

function toWindow(bills: readonly Bill[]) {
  return {
    sinceUs: Math.min(...bills.map(({ firstDay }) => firstDay)) * DAY_US,
    untilUs: (Math.max(...bills.map(({ lastDay }) => lastDay)) + 1) * DAY_US,
  };
}
