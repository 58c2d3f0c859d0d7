import { Database } from "bun:sqlite";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { journalIsRead } from "../invariants/invariants.ts";
import { createChance } from "../support/chance.ts";
import { makeInstallation, provide, type Installation } from "../support/installation.ts";
import { checkLedger, checkReports, toTaggedId } from "../support/invariants.ts";
import type { CheckedEvent } from "../support/ledger-totals.ts";
import { executable } from "../support/executable.ts";
import { readNumber, scale } from "../support/scale.ts";
import {
  startLoad,
  startMixedUpstream,
  TOKENS,
  type Kind,
  type Ledger,
  type Load,
  type MixedUpstream,
} from "./mixed-load.ts";

const SETUP_MS_MAX = 120_000;
const KILLS = readNumber("LOCKPORT_KILLS") ?? 5 * scale;
const TEST_MS_MAX = 180_000 + KILLS * 10_000;
const CALLERS = 8;
/** Responses that end before a kill, at most. */
const ENDED_BEFORE_KILL_MAX = 100;
const START_KILL_MS_MAX = 150;
const PRICES = { input_tokens: 2.5, output_tokens: 10 };

let lockport: string;
let installation: Installation;
let upstream: MixedUpstream;
let load: Load | null;

beforeAll(async () => {
  lockport = await executable();
}, SETUP_MS_MAX);
beforeEach(async () => {
  load = null;
  upstream = await startMixedUpstream();
  installation = await makeInstallation(lockport);
});
afterEach(async () => {
  await installation.remove();
  await load?.stop();
  await upstream.stop();
});

describe("kills at random moments under mixed load", () => {
  test(
    "lose no event of a request that reached its upstream, double none and invent none; both databases stay sound",
    async () => {
      const chance = createChance(readNumber("LOCKPORT_SEED"));
      console.log(`kills: ${KILLS}, seed ${chance.seed}`);
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

      // A start and a clean end settle the events that were open at the last kill.
      const last = await installation.start();
      await journalIsRead(last.url);
      await checkReports(last.url, installation.adminKey);
      expect(await last.stop()).toBe(0);
      expect(ledger.ended.size).toBeGreaterThan(KILLS);
      checkEvents(ledger);
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
  load = startLoad({
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
    cmd: [lockport, "serve", "--port", "0"],
    env: { PROXY_DATA_DIR: installation.dataDir, HOME: installation.folder },
    stdio: ["ignore", "ignore", "ignore"],
  });
  await new Promise((resolve) => setTimeout(resolve, afterMs));
  child.kill("SIGKILL");
  await child.exited;
}

/** Two rules beside the invariants: each event tells what its caller got, and every outcome was there to be counted. */
function checkEvents(ledger: Ledger): void {
  const checked = checkLedger(installation.dataDir, {
    arrivals: upstream.arrivals,
    ended: ledger.ended.keys(),
    sent: ledger.sent,
    isAtRest: true,
  });
  const events = new Map(checked.map((event) => [toTaggedId(event), event]));
  for (const [id, { kind, status }] of ledger.ended) {
    expect({ request: id, ...events.get(id) }).toMatchObject({ request: id, ...toExpected(kind, status) });
  }
  // Those whose caller got nothing whole are no successes, but where it was killed after the last event of an answer.
  const cutOff = [...events].filter(([id]) => !ledger.ended.has(id)).map(([, { outcome }]) => outcome);
  expect(cutOff).toContain("unreachable");
  expect(cutOff).toContain("cancelled");
  console.log(
    `kills: ${checked.length} events of ${ledger.sent.size} requests, ${upstream.arrivals.size} of them upstream`,
  );
  const outcomes = new Set(checked.map(({ outcome }) => outcome));
  expect([...outcomes].sort()).toEqual(["cancelled", "ok", "unreachable", "upstream_error"]);
}

function toExpected(kind: Kind, status: number): Partial<CheckedEvent> {
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

/** Every key that was confirmed is there, and an audit entry is there exactly for the keys that are. */
function checkCatalog(ledger: Ledger): void {
  const database = new Database(join(installation.dataDir, "catalog.db"), { readonly: true });
  const ids = (sql: string) =>
    database
      .query<{ id: string }, []>(sql)
      .all()
      .map(({ id }) => id);
  const keys = ids("SELECT id FROM api_keys WHERE label = 'load'");
  const audited = ids(
    "SELECT target_ref AS id FROM audit_events WHERE action = 'key.create' AND actor_principal_id <> 'local'",
  );
  expect([...ledger.keys].filter((id) => !keys.includes(id))).toEqual([]);
  expect(audited.sort()).toEqual(keys.sort());
  expect(keys.length).toBeGreaterThan(0);
  database.close();
}
