import { expect } from "bun:test";
import type { MixedUpstream, Ledger } from "../binary/mixed-load.ts";
import type { Site } from "./site.ts";

interface RecordedEvent {
  readonly tags: string;
  readonly outcome: string;
  /** Pico, as text; null without a price. */
  readonly cost: string | null;
}

const EVENTS = `SELECT c.tags, r.outcome, (e.cost_hi::numeric * 1000000000 + e.cost_lo::numeric)::text AS cost
  FROM event AS e JOIN combination AS c ON c.id = e.combination
  JOIN manner AS m ON m.id = e.manner JOIN result AS r ON r.id = m.result`;

const TOTALS = `SELECT sum(requests)::text AS requests, sum(cost_hi::numeric * 1000000000 + cost_lo::numeric)::text AS cost
  FROM (SELECT requests, cost_hi, cost_lo FROM day_total UNION ALL
        SELECT requests, cost_hi, cost_lo FROM sealed_day_total) AS days`;

const HOURS = `SELECT sum(requests)::text AS requests, sum(cost_hi::numeric * 1000000000 + cost_lo::numeric)::text AS cost
  FROM hour_total`;

/**
 * Invariants 1 and 2 over all replicas, which have ended: one event for each request that reached its upstream, none twice and
 * none invented, and totals that are the sum of the events to the pico. Returns how many events there are.
 */
export async function checkRecorded(
  { database, schema: { schema }, run }: Pick<Site, "database" | "schema" | "run">,
  { ledger, upstream }: { readonly ledger: Ledger; readonly upstream: Pick<MixedUpstream, "arrivals"> },
): Promise<number> {
  const inSchema = (sql: string) => sql.replaceAll(/\b(FROM|JOIN) (?=[a-z])/g, `$1 ${schema}.`);
  const events = await database.sql<RecordedEvent>(inSchema(EVENTS));
  const ids = events.map(({ tags }) => toId(tags));
  const recorded = new Set(ids);
  const twice = ids.filter((id, index) => ids.indexOf(id) !== index);
  const lost = [...upstream.arrivals.keys(), ...ledger.ended.keys()].filter((id) => !recorded.has(id));
  const invented = ids.filter((id) => !ledger.sent.has(id));
  const sentTwice = [...upstream.arrivals].filter(([, count]) => count !== 1);
  expect({ twice, lost, invented, sentTwice }).toEqual({ twice: [], lost: [], invented: [], sentTwice: [] });

  const costs = events.reduce((sum, { cost }) => sum + BigInt(cost ?? "0"), 0n);
  const sums = { requests: String(events.length), cost: String(costs) };
  expect(await database.sql(inSchema(TOTALS))).toEqual([sums]);
  expect(await database.sql(inSchema(HOURS))).toEqual([sums]);
  const checked = await run("ledger", "check", "--json");
  expect({ code: checked.code, messages: checked.messages }).toEqual({ code: 0, messages: "" });
  return events.length;
}

function toId(tags: string): string {
  const pairs: readonly string[] = JSON.parse(tags);
  return pairs.find((pair) => pair.startsWith("id:"))?.slice(3) ?? "";
}
