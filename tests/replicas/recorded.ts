import { expect } from "bun:test";
import type { MixedUpstream, Ledger } from "../binary/mixed-load.ts";
import { checkPostgresLedger } from "../support/postgres-totals.ts";
import type { Site } from "./site.ts";

/**
 * Invariants 1 and 2 over all replicas, which have ended: one event for each request that reached its upstream, none twice and
 * none invented, and totals that are the sum of the events to the pico. Returns how many events there are.
 */
export async function checkRecorded(
  { schema, run }: Pick<Site, "schema" | "run">,
  { ledger, upstream }: { readonly ledger: Ledger; readonly upstream: Pick<MixedUpstream, "arrivals"> },
): Promise<number> {
  const events = await checkPostgresLedger(schema, {
    arrivals: upstream.arrivals,
    ended: ledger.ended.keys(),
    sent: ledger.sent,
  });
  const checked = await run("ledger", "check", "--json");
  expect({ code: checked.code, messages: checked.messages }).toEqual({ code: 0, messages: "" });
  return events.length;
}
