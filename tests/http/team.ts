import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RepricingStore } from "#stats/repricing.ts";
import { RELAY_PROVIDER, type UsageEnding, type UsageBeginning } from "#usage/event.ts";
import { createManualClock, createTestLog, type ManualClock } from "../ledger/usage.ts";
import { call, createCaller, openSession, startHarness, type Harness, type JsonResponse } from "./support.ts";
import { openLedger } from "../support/ledger.ts";

/** `Date` knows milliseconds; what stands behind them is added. */
export const at = (instant: string): number =>
  Date.parse(instant) * 1000 + Number(/\.\d{3}(\d{3})Z$/.exec(instant)?.[1] ?? 0);

/** A request as a test tells of it; what it leaves out is of no importance there. */
export interface Used extends Partial<UsageBeginning>, Partial<UsageEnding> {
  readonly at: string;
  readonly by: Member;
  /** A provider's name; one that does not exist is taken for an id of a deleted one. */
  readonly provider?: string;
}

export type Member = Awaited<ReturnType<typeof createCaller>>;

/** A team with its ledger: the interface over a real socket, real files, and a clock that stands still. */
export interface Team extends Harness {
  readonly clock: ManualClock;
  readonly alice: Member;
  readonly bob: Member;
  /** Writes events down, in this order. */
  record(...used: readonly Used[]): Promise<void>;
  readonly asAdmin: Record<string, string>;
  /** As the admin, unless `headers` say otherwise. */
  get(path: string, headers?: Record<string, string>): Promise<JsonResponse>;
  /** The JSON of a 200. */
  read(path: string, headers?: Record<string, string>): Promise<any>;
}

export const NOW = "2026-03-11T12:00:00Z";

/** `toRepricingStore` may hold up what a re-pricing asks of the ledger. */
export async function startTeam(
  toRepricingStore: (store: RepricingStore) => RepricingStore = (store) => store,
): Promise<Team> {
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-team-"));
  const clock = createManualClock(at(NOW));
  const opened = await openLedger({
    dataDir,
    clock,
    log: createTestLog().log,
    ledgerSync: "interval",
    usageRetentionDays: null,
  });
  const harness = await startHarness({
    stats: opened.stats,
    repricingStore: toRepricingStore(opened.repricings),
    clock,
  });
  const alice = await createCaller(harness, "alice");
  const bob = await createCaller(harness, "bob");
  for (const name of ["up", "other"]) {
    await call(harness, "POST", "/admin/v1/providers", {
      body: { name, base_url: `https://${name}.example` },
    });
  }
  const asAdmin = { authorization: `Bearer ${harness.adminKey}` };
  const get = (path: string, headers: Record<string, string> = asAdmin) =>
    call(harness, "GET", path, { headers });
  return {
    ...harness,
    clock,
    asAdmin,
    alice,
    bob,
    get,
    async record(...used) {
      const { providers } = await harness.deps.catalog.snapshot();
      for (const { at: instant, by, provider = "up", ...rest } of used) {
        const providerId = providers.find(({ name }) => name === provider)?.id ?? provider;
        await opened.ledger
          .open({ ...toSubject(by, providerId), arrivedAtUs: at(instant), ...rest })
          .end({ ...ENDING, ...rest });
      }
      // A report waits half a second for what the writer has not committed, and a busy machine takes longer.
      await opened.ledger.flush();
    },
    async read(path, headers) {
      const response = await get(path, headers);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${path}: ${response.status} ${text}`);
      return JSON.parse(text);
    },
    async stop() {
      await harness.stop();
      await opened.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** The `Cookie` header of a session that outlives the test, whatever its clock says. */
export const signedIn = async (team: Team, { principal }: Member) => ({
  cookie: await openSession(team, principal, 100 * 365 * 86_400),
});

export const bearer = ({ key }: Member) => ({ authorization: `Bearer ${key}` });

function toSubject(by: Member, providerId: string): Omit<UsageBeginning, "arrivedAtUs"> {
  const isRelayed = providerId === RELAY_PROVIDER;
  return {
    principalId: by.principal.id,
    principalName: by.principal.name,
    keyId: isRelayed ? null : by.keyId,
    relayTokenId: isRelayed ? "token" : null,
    providerId,
    model: "fast",
    upstreamName: "fast-2026",
    endpoint: "chat",
    client: "sdk/1.0",
    tags: [],
    fixedTags: [],
    streamed: false,
  };
}

/** Ten tokens in, of which four from a cache, and two out: 6 × 1 + 4 × 0.5 + 2 × 2 = 12 millionths. */
const ENDING: UsageEnding = {
  statusCode: 200,
  outcome: "ok",
  errorKind: null,
  durationUs: 1_500_000,
  timeToFirstByteUs: 300_000,
  usage: {
    shape: "inclusive",
    quantities: { input_tokens: 10, output_tokens: 2, cached_input_tokens: 4 },
  },
  prices: { input_tokens: 1_000_000, output_tokens: 2_000_000, cached_input_tokens: 500_000 },
  costPico: 12_000_000n,
  unpriced: false,
};

/** The ends of requests that failed. */
export const LIMITED: Partial<UsageEnding> = {
  outcome: "upstream_error",
  errorKind: "rate_limit_error",
  statusCode: 429,
  usage: null,
  prices: {},
  costPico: null,
};
export const UNREACHABLE: Partial<UsageEnding> = {
  outcome: "unreachable",
  errorKind: "timeout",
  statusCode: 502,
  usage: null,
  prices: {},
  costPico: null,
};
export const CANCELLED: Partial<UsageEnding> = { outcome: "cancelled", statusCode: 200 };
