import { Database } from "bun:sqlite";
import { expect } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { callApi } from "./installation.ts";
import type { CheckedEvent } from "./ledger-totals.ts";
import { checkLimitSums } from "./limit-sums.ts";
import { checkTotals, EVENTS_SQL, SEAM, toBilled, toPico } from "./ledger-totals.ts";

/** Requests that callers and upstreams saw, as far as a test knows. */
export interface Attempts {
  /** How often each request reached its upstream, by the id that it was tagged with (`id:<id>`). */
  readonly arrivals?: ReadonlyMap<string, number>;
  /** Ids of requests whose response came to its end. */
  readonly ended?: Iterable<string>;
  /** Ids of all requests that were ever sent. */
  readonly sent?: Iterable<string>;
  /** Where requests carry no id: how many events there are. */
  readonly eventCount?: number;
  /** True when the process has ended well, so that no request is under way. */
  readonly isAtRest?: boolean;
}

/**
 * Invariants 1, 2 and 13 of a data folder, whether its server runs, has ended or was killed: both files are sound; every
 * attempt is one event, none twice, none lost; each costs what its quantities cost; every total is the sum of its rows to
 * the pico, and what limits count of them likewise; what has no price has no cost. Returns the events.
 */
export function checkLedger(dataDir: string, attempts: Attempts = {}): readonly CheckedEvent[] {
  checkSoundness(join(dataDir, "catalog.db"));
  const database = checkSoundness(join(dataDir, "usage.db"));
  if (database === null) throw new Error("there is no ledger");
  try {
    // One picture of a file that may be written to meanwhile.
    database.run("BEGIN");
    const events = database.query<CheckedEvent, []>(EVENTS_SQL).all();
    checkAttempts(events, attempts);
    for (const event of events) checkCost(event);
    checkTotals(database, events);
    checkLimitSums(database, events, join(dataDir, "catalog.db"));
    if (attempts.isAtRest === true) {
      expect(database.query("SELECT sequence FROM open_request").all()).toEqual([]);
    }
    return events;
  } finally {
    database.close();
  }
}

function checkSoundness(path: string): Database | null {
  if (!existsSync(path)) return null;
  const database = new Database(path, { readonly: true });
  database.run("PRAGMA busy_timeout = 5000");
  expect(database.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  expect(database.query("PRAGMA foreign_key_check").all()).toEqual([]);
  if (path.endsWith("usage.db")) return database;
  database.close();
  return null;
}

/** Invariant 1. */
export function checkAttempts(events: readonly CheckedEvent[], attempts: Attempts): void {
  const { arrivals, ended, sent, eventCount } = attempts;
  if (eventCount !== undefined) expect(events.length).toBe(eventCount);
  if (arrivals === undefined && ended === undefined && sent === undefined) return;
  const ids = events.map(toTaggedId);
  const recorded = new Set(ids);
  const seen = new Set<string>();
  const twice = ids.filter((id) => seen.size === seen.add(id).size);
  const lost = [...(arrivals?.keys() ?? []), ...(ended ?? [])].filter((id) => !recorded.has(id));
  const known = new Set(sent ?? ids);
  const invented = ids.filter((id) => !known.has(id));
  const retried = [...(arrivals ?? [])].filter(([, count]) => count !== 1);
  expect({ twice, lost, invented, retried }).toEqual({ twice: [], lost: [], invented: [], retried: [] });
}

export function toTaggedId({ tags }: Pick<CheckedEvent, "tags">): string {
  const pairs: string[] = JSON.parse(tags);
  return pairs.find((pair) => pair.startsWith("id:"))?.slice(3) ?? "";
}

/** Invariant 2: billed quantity × price, each quantity to a millionth, the whole rounded half up to the pico. */
export function checkCost(event: CheckedEvent): void {
  let micros: bigint | null = null;
  for (const { unit, counted, quantity, price } of toBilled(event)) {
    if (quantity === 0 && unit !== counted) continue;
    if (quantity === null || price === null) continue;
    const whole = Math.floor(quantity);
    const units = BigInt(whole) * 1_000_000n + BigInt(Math.round((quantity - whole) * 1e6));
    micros = (micros ?? 0n) + units * BigInt(price);
  }
  const expected = micros === null ? null : (micros + 500_000n) / 1_000_000n;
  const actual = toPico(event);
  if (actual !== expected) expect({ event, cost: actual }).toEqual({ event, cost: expected });
  if (event.cost_lo !== null && !(event.cost_lo >= 0 && event.cost_lo < Number(SEAM))) {
    throw new Error(`event ${event.id} has a low half of ${event.cost_lo}`);
  }
}

interface SeriesAnswer {
  readonly series: readonly {
    readonly start: string;
    readonly requests: number;
    readonly ok: number;
    readonly cancelled: number;
    readonly failed: number;
    readonly unpriced_requests: number;
    readonly cost: number | null;
    readonly units: Record<string, number>;
  }[];
}

/**
 * Invariant 2 as a reader sees it: in every bucket of every series the outcomes add up to the requests, an empty bucket has
 * no cost, and all reports count the same requests as the log does. The server should be idle.
 */
export async function checkReports(url: string, key: string): Promise<void> {
  const read = async (path: string) => {
    const response = await callApi(url, key, "GET", path);
    const text = await response.text();
    if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
    return JSON.parse(text);
  };
  const { total } = await read("/stats/requests?limit=1");
  for (const path of ["/stats/series", "/admin/v1/usage/series", "/my/usage/series"]) {
    for (const bucket of ["hour", "day", "week", "month"]) {
      const { series }: SeriesAnswer = await read(`${path}?bucket=${bucket}`);
      let requests = 0;
      for (const each of series) {
        const { ok, cancelled, failed } = each;
        expect({ path, ...each }).toMatchObject({ requests: ok + cancelled + failed });
        if (each.requests === 0) expect({ path, ...each }).toMatchObject({ cost: null, units: {} });
        expect(each.unpriced_requests).toBeLessThanOrEqual(each.requests);
        requests += each.requests;
      }
      if (!path.startsWith("/my"))
        expect({ path, bucket, requests }).toEqual({ path, bucket, requests: total });
    }
  }
  const { series, breakdown } = await read("/stats/errors");
  const sumOf = (rows: readonly Record<string, unknown>[], ...names: readonly string[]) =>
    rows.reduce((count, row) => names.reduce((inRow, name) => inRow + Number(row[name]), count), 0);
  expect(sumOf(series, "ok", "upstream_error", "unreachable", "cancelled")).toBe(total);
  expect(sumOf(breakdown, "requests")).toBe(total);
}
