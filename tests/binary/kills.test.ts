import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { createChance } from "../support/chance.ts";
import { makeInstallation, provide, type Installation } from "../support/installation.ts";
import { executable, removeExecutable } from "../support/process.ts";
import {
  startLoad,
  startMixedUpstream,
  TOKENS,
  type Kind,
  type Ledger,
  type MixedUpstream,
} from "./mixed-load.ts";

const SETUP_MS_MAX = 120_000;
const TEST_MS_MAX = 180_000;
const KILLS = 20;
const CALLERS = 8;
/** Responses that end before a kill, at most. */
const ENDED_BEFORE_KILL_MAX = 150;
const START_KILL_MS_MAX = 150;
const PRICES = { input_tokens: 2.5, output_tokens: 10 };
const [INPUT_PICO, OUTPUT_PICO] = [2_500_000n, 10_000_000n];

let installation: Installation;
let upstream: MixedUpstream;

beforeAll(async () => {
  upstream = await startMixedUpstream();
  installation = await makeInstallation(await executable());
}, SETUP_MS_MAX);
afterAll(async () => {
  await installation?.remove();
  await upstream?.stop();
  removeExecutable();
});

interface EventRow {
  readonly tags: string;
  readonly outcome: string;
  readonly status_code: number;
  readonly error_kind: string | null;
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
}

describe("20 kills at random moments under mixed load", () => {
  test(
    "lose no event of a request that reached its upstream, double none and invent none; both databases stay sound",
    async () => {
      const chance = createChance();
      console.log(`kills: seed ${chance.seed}`);
      const ledger: Ledger = { sent: new Set(), ended: new Map(), keys: new Set() };
      const first = await installation.start();
      await provide(first.url, installation.adminKey, {
        name: "mixed",
        baseUrl: upstream.baseUrl,
        models: { m: "um" },
        pricing: PRICES,
      });
      expect(await first.stop()).toBe(0);
      for (let round = 0; round < KILLS; round += 1) await loadUntilKilled(ledger, chance);

      // What was open at the last kill is settled by a start and a clean end.
      const last = await installation.start();
      expect(await last.stop()).toBe(0);
      expect(ledger.ended.size).toBeGreaterThan(KILLS);
      checkEvents(ledger);
      checkTotals();
      checkCatalog(ledger);
    },
    TEST_MS_MAX,
  );
});

/** One life of the server: load until so many responses have ended, a little chance on top, and SIGKILL. */
async function loadUntilKilled(ledger: Ledger, chance: ReturnType<typeof createChance>): Promise<void> {
  // Some lives end before they serve, while what the one before left is being replayed.
  if (chance.below(4) === 0) await killWhileStarting(chance.below(START_KILL_MS_MAX));
  const server = await installation.start();
  const target = chance.below(ENDED_BEFORE_KILL_MAX);
  const enough = Promise.withResolvers<void>();
  let ended = 0;
  if (target === 0) enough.resolve();
  const load = startLoad({
    url: server.url,
    key: installation.adminKey,
    upstream,
    chance,
    ledger,
    callers: CALLERS,
    onEnded: () => {
      ended += 1;
      if (ended === target) enough.resolve();
    },
  });
  await enough.promise;
  await new Promise((resolve) => setTimeout(resolve, chance.below(20)));
  const stopping = load.stop();
  server.signal("SIGKILL");
  await server.exited;
  await stopping;
}

async function killWhileStarting(afterMs: number): Promise<void> {
  const child = Bun.spawn({
    cmd: [await executable(), "serve", "--port", "0"],
    env: { PROXY_DATA_DIR: installation.dataDir, HOME: installation.folder },
    stdio: ["ignore", "ignore", "ignore"],
  });
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill("SIGKILL");
  await child.exited;
}

function openDatabase(name: string): Database {
  const database = new Database(join(installation.dataDir, name), { readonly: true });
  expect(database.query("PRAGMA integrity_check").all()).toEqual([{ integrity_check: "ok" }]);
  expect(database.query("PRAGMA foreign_key_check").all()).toEqual([]);
  return database;
}

function checkEvents(ledger: Ledger): void {
  const database = openDatabase("usage.db");
  const rows = database
    .query<EventRow, []>(
      `SELECT tags, outcome, status_code, error_kind, input_tokens, output_tokens FROM event
       JOIN combination ON combination.id = event.combination JOIN result ON result.id = event.result`,
    )
    .all();
  const events = new Map(rows.map((row) => [toId(row.tags), row]));
  const without = (ids: Iterable<string>) => [...ids].filter((id) => !events.has(id));
  // None twice.
  expect(rows.length).toBe(events.size);
  // None lost.
  expect(without(ledger.ended.keys())).toEqual([]);
  expect(without(upstream.arrivals.keys())).toEqual([]);
  // None invented.
  expect([...events.keys()].filter((id) => !ledger.sent.has(id))).toEqual([]);
  // Nothing was retried.
  expect([...upstream.arrivals].filter(([, count]) => count !== 1)).toEqual([]);
  // Each says what its caller got.
  for (const [id, { kind, status }] of ledger.ended) {
    expect({ id, ...events.get(id) }).toMatchObject({ id, ...toExpected(kind, status) });
  }
  // Those whose caller got nothing whole are no successes, but where it was killed after the last event of an answer.
  const cutOff = [...events].filter(([id]) => !ledger.ended.has(id)).map(([, { outcome }]) => outcome);
  expect(cutOff).toContain("unreachable");
  expect(cutOff).toContain("cancelled");
  expect(database.query("SELECT * FROM open_request").all()).toEqual([]);
  database.close();
}

function toExpected(kind: Kind, status: number): Partial<EventRow> {
  if (kind === "reset") {
    expect(status).toBe(502);
    return { outcome: "unreachable", error_kind: "connection_error", status_code: 502 };
  }
  if (kind === "error") {
    expect(status).toBe(429);
    return { outcome: "upstream_error", error_kind: "rate_limit_error", status_code: 429 };
  }
  expect(status).toBe(200);
  if (kind === "left" || kind === "silent") throw new Error(`a ${kind} caller got a whole response`);
  const [input, output] = TOKENS[kind];
  return { outcome: "ok", status_code: 200, error_kind: null, input_tokens: input, output_tokens: output };
}

const toId = (tags: string): string => {
  const pairs: string[] = JSON.parse(tags);
  return pairs.map((pair) => /^id:(.*)$/.exec(pair)?.[1]).find((id) => id !== undefined) ?? "";
};

interface Sums {
  readonly outcome: string;
  readonly requests: number;
  readonly input: number | null;
  readonly output: number | null;
  /** Halves of an amount: high * 10^9 + low, in 10^-12 of the currency unit. */
  readonly high: number | null;
  readonly low: number | null;
}

/** The totals of each outcome, by hours and by days, are the sums of the events themselves. */
function checkTotals(): void {
  const database = openDatabase("usage.db");
  const sum = (requests: string, source: string) =>
    database
      .query<Sums, []>(
        `SELECT outcome, ${requests} AS requests, sum(input_tokens) AS input, sum(output_tokens) AS output,
           sum(cost_hi) AS high, sum(cost_lo) AS low
         FROM ${source} GROUP BY outcome ORDER BY outcome`,
      )
      .all();
  const toFigures = ({ outcome, requests, input, output, ...cost }: Sums) => [
    [outcome, requests, input ?? 0, output ?? 0],
    toPico(cost),
  ];
  const events = sum("count(*)", "event JOIN result ON result.id = event.result");
  const hours = sum("sum(requests)", "hour_total");
  const days = sum(
    "sum(requests)",
    `(SELECT result, requests, input_tokens, output_tokens, cost_hi, cost_lo FROM day_total
      UNION ALL SELECT result, requests, input_tokens, output_tokens, cost_hi, cost_lo FROM sealed_day_total) AS total
     JOIN result ON result.id = total.result`,
  );
  expect(hours.map(toFigures)).toEqual(events.map(toFigures));
  expect(days.map(toFigures)).toEqual(events.map(toFigures));
  // Every outcome was there to be counted, and all cost what their tokens cost.
  expect(events.map(({ outcome }) => outcome)).toEqual(["cancelled", "ok", "unreachable", "upstream_error"]);
  for (const row of events) {
    expect(toPico(row)).toBe(BigInt(row.input ?? 0) * INPUT_PICO + BigInt(row.output ?? 0) * OUTPUT_PICO);
  }
  database.close();
}

const toPico = ({ high, low }: Pick<Sums, "high" | "low">) =>
  BigInt(high ?? 0) * 1_000_000_000n + BigInt(low ?? 0);

/** Every key that was confirmed is there, and an audit entry is there exactly for the keys that are. */
function checkCatalog(ledger: Ledger): void {
  const database = openDatabase("catalog.db");
  const ids = (sql: string) =>
    database
      .query<{ id: string }, []>(sql)
      .all()
      .map(({ id }) => id);
  const keys = ids("SELECT id FROM api_keys WHERE label = 'load'");
  const audited = ids("SELECT target_ref AS id FROM audit_events WHERE action = 'key.create'");
  expect([...ledger.keys].filter((id) => !keys.includes(id))).toEqual([]);
  expect(audited.sort()).toEqual(keys.sort());
  expect(keys.length).toBeGreaterThan(0);
  database.close();
}
