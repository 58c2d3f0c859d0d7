import { expect } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toSummary } from "#bills/bill.ts";
import { readBills } from "#bills/read-bill.ts";
import { reconcile } from "#bills/reconciliation.ts";
import { createOwnAttempts, createDevices } from "#identity/attempts.ts";
import { CAPABILITIES } from "#catalog/capability.ts";
import { createCatalog } from "#catalog/catalog.ts";
import { createDiscovery } from "#catalog/discovery.ts";
import { createModelsCall } from "#forward/models-call.ts";
import { createApp, type App } from "#http/app.ts";
import type { ServedDeps } from "#http/deps.ts";
import type { Route } from "#http/door/route.ts";
import { listRoutes } from "#http/local.ts";
import { toServeOptions } from "#http/serve.ts";
import { createAuthenticator } from "#identity/caller.ts";
import { createKeys, createOwnedSecrets } from "#identity/keys.ts";
import { createKeyUse } from "#identity/key-use.ts";
import { createLoginLinkSignIn } from "#identity/login-links.ts";
import { createPasswordPrint, createPasswordSignIn } from "#identity/password.ts";
import { type Principal } from "#identity/principal.ts";
import { createPrincipals } from "#identity/principals.ts";
import { createSignInLog } from "#identity/sign-in-log.ts";
import { createUsedStates } from "#identity/sso-state.ts";
import { issueSession } from "#identity/sessions.ts";
import { createSystemClock } from "#kernel/clock.ts";
import { type SecretBox, createKeyring } from "#kernel/crypto.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { createLog } from "#kernel/log.ts";
import { createLimitAdmin } from "#limits/limit-admin.ts";
import { Limits } from "#limits/limits.ts";
import { createPeople } from "#people/people.ts";
import { createNoticeTrial } from "#notices/trial.ts";
import { NO_FIGURES, type RepricingStore } from "#stats/repricing.ts";
import { Repricings } from "#stats/repricings.ts";
import { createUsageMetrics } from "#usage/metrics.ts";
import type { StatsStore } from "#stats/store.ts";
import { openTestStores } from "../support/catalog-stores.ts";
import "../support/loopback.ts";

export const PASSWORD = "correct horse battery";

export interface Harness {
  readonly app: App;
  /** Every route that is served, as it declares itself. */
  readonly routes: readonly Route[];
  readonly deps: ServedDeps;
  readonly secrets: SecretBox;
  readonly url: string;
  readonly port: number;
  readonly adminKey: string;
  readonly adminId: string;
  readonly logLines: string[];
  stop(): Promise<void>;
}

export interface HarnessOverrides extends Partial<Omit<ServedDeps, "config">> {
  /** Absent: there is no ledger to be priced again. */
  readonly repricingStore?: RepricingStore;
  readonly config?: Partial<ServedDeps["config"]>;
  /** Null: sign-in by password is switched off. */
  readonly password?: string | null;
}

/** Opens every endpoint: a model that can do everything. */
export async function openEndpoints({ deps: { catalog } }: Pick<Harness, "deps">): Promise<void> {
  await catalog.createProvider({ name: "everything", base_url: "http://127.0.0.1:1/v1" }, null);
  const capabilities = [...CAPABILITIES];
  await catalog.createModel(
    { alias: "everything", provider: "everything", upstreamName: "x", capabilities },
    null,
  );
}

const NO_REPRICINGS: RepricingStore = {
  plan: async () => ({ untilUs: null, figures: NO_FIGURES, eventCount: 0, rowsFromUs: 0 }),
  create: async () => false,
  save: async () => false,
  begin: async () => ({ kind: "absent" }),
  claim: async () => null,
  applyStep: async () => null,
  sumApplied: async () => null,
  revertStep: async () => null,
  find: async () => null,
  list: async () => ({ rows: [], total: 0 }),
};

/** The interface over a real socket on a real catalog; what is behind the exchange and the reports is given. */
export async function startHarness(overrides: HarnessOverrides = {}): Promise<Harness> {
  const { config, password = PASSWORD, repricingStore = NO_REPRICINGS, ...given } = overrides;
  const folder = mkdtempSync(join(tmpdir(), "lockport-http-"));
  const clock = createSystemClock();
  const ids = createSystemIds();
  const secrets = createKeyring(ids.randomBytes(32));
  const logLines: string[] = [];
  const log = createLog({
    level: "debug",
    json: true,
    write: (line) => logLines.push(line),
    timestamp: () => "",
  });
  const path = join(folder, "catalog.db");
  const database = await openTestStores(path, { secrets, clock, log });
  const lastUsed = new Map<string, number>();
  const keyUse = createKeyUse(
    {
      loadLastUsed: async (wanted) =>
        new Map(wanted.flatMap((id) => (lastUsed.has(id) ? [[id, lastUsed.get(id)!]] : []))),
      saveLastUsed: (id, at) => void lastUsed.set(id, at),
    },
    clock,
  );
  const identity = database.identity;
  const principals = createPrincipals({ store: identity, clock, ids });
  const keys = createKeys({ store: identity, secrets, clock, ids });
  const admin = await principals.ensureAdmin();
  const { plaintext: adminKey } = await keys.create({ principalId: admin.id, label: "tests" }, null);
  const catalog = createCatalog({ store: database.catalog, secrets, clock, ids });
  const fetchModels = createModelsCall({ clock, secrets, maxResponseBytes: 64 * 1024 * 1024 });
  const limits = new Limits({
    store: database.limits,
    ledger: { sumLimits: async () => [] },
    clock,
    log,
  });
  const limitAdmin = createLimitAdmin({ store: database.limits, limits, clock, ids });
  const signIns = createSignInLog(log, clock);
  const passwordPrint = createPasswordPrint(password, secrets);
  const deps: ServedDeps = {
    clock,
    log,
    authenticator: createAuthenticator({
      store: identity,
      keyUse,
      secrets,
      clock,
      passwordPrint,
      signIns,
      usedStates: createUsedStates(clock),
    }),
    identity,
    principals,
    keys,
    relayTokens: createOwnedSecrets("relayTokens", { store: identity, secrets, clock, ids }),
    keyUse,
    devices: createDevices({ secrets, clock, ids }),
    passwordSignIn: createPasswordSignIn({
      sharedAttempts: createOwnAttempts(clock),
      password,
      passwordPrint,
      store: identity,
      secrets,
      clock,
      ids,
      sessionTtlSeconds: 3600,
      signIns,
      sleep: async () => {},
    }),
    loginLinkSignIn: createLoginLinkSignIn({
      sharedAttempts: createOwnAttempts(clock),
      store: identity,
      secrets,
      clock,
      ids,
      sessionTtlSeconds: 3600,
      signIns,
      sleep: async () => {},
    }),
    sso: null,
    catalog,
    discovery: createDiscovery({ catalog, fetchModels, clock, secrets }),
    relay: null,
    exchange: { run: async () => ({ kind: "responded", response: new Response("relayed") }) },
    limits: limitAdmin,
    people: createPeople({ store: database.people, limits: limitAdmin, secrets, clock, ids }),
    notices: createNoticeTrial({ target: null, clock, ids }),
    audit: database.audit,
    installation: {
      usageRetentionDays: null,
      sessionTtlSeconds: 3600,
      measure: async () => ({ catalogBytes: 1, usageBytes: 2, journalBytes: 3 }),
    },
    openAssets: async () => null,
    stats: NO_STATS,
    repricings: new Repricings({
      store: repricingStore,
      audit: database.audit,
      clock,
      ids,
      log,
      isShared: false,
      onCosts: async () => {},
    }),
    metrics: {
      usage: createUsageMetrics(),
      limits,
      notices: null,
      exchange: { activeCount: () => 0, activeStreamCount: () => 0, waitingCount: () => 0 },
      health: () => ({ isServing: true, replica: null }),
      ledger: () => ({
        filesLost: 0,
        filesMissing: 0,
        journalPendingBytes: 0,
        journalReservedBytes: 1_048_576,
        journalUncommittedBytes: 0,
        writerRunning: true,
        writerCommits: 0,
        writerEvents: 0,
        writerFailures: 0,
        writerLastCommitMs: 0,
        readerWaiting: 0,
        combinations: 0,
      }),
      loopLag: { histogram: () => ({ counts: [], count: 0, sumMs: 0 }), maxMs: () => 0 },
    },
    ...given,
    config: {
      host: "127.0.0.1",
      publicUrl: null,
      allowedHosts: [],
      maxBodyBytes: 256 * 1024,
      adminPasswordEnabled: true,
      ...config,
    },
  };
  const app = createApp(deps);
  const server = Bun.serve(toServeOptions(app, { hostname: "127.0.0.1", port: 0 }));
  const port = server.port!;
  return {
    app,
    get routes() {
      return listRoutes();
    },
    deps,
    secrets,
    url: `http://127.0.0.1:${port}`,
    port,
    adminKey,
    adminId: admin.id,
    logLines,
    async stop() {
      await server.stop(true);
      await database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export interface CallOptions {
  /** A value to be sent as JSON, or text and bytes to be sent as they are. */
  readonly body?: unknown;
  /** Replace the admin's key. */
  readonly headers?: Record<string, string>;
}

/** Tests say what they expect of a body. */
export interface JsonResponse extends Response {
  json(): Promise<any>;
}

/** A request with the admin's key, unless `headers` are given. */
export function call(
  harness: Harness,
  method: string,
  path: string,
  { body, headers }: CallOptions = {},
): Promise<JsonResponse> {
  return fetch(harness.url + path, {
    method,
    redirect: "manual",
    headers: headers ?? { authorization: `Bearer ${harness.adminKey}` },
    ...(body !== undefined && { body: toSentBody(body) }),
  });
}

function toSentBody(body: unknown) {
  if (body instanceof Uint8Array) return new Uint8Array(body);
  return typeof body === "string" ? body : JSON.stringify(body);
}

/**
 * A refusal such as `404 model_not_found`: all five fields of the envelope, the request's id and nothing else, and the headers
 * that come with it. Any `param` where none is given. Returns the message without the id at its end.
 */
export async function expectError(
  response: Response,
  refusal: `${number} ${string}`,
  param?: string | null,
): Promise<string> {
  const [status = "", code = ""] = refusal.split(" ");
  const text = await response.text();
  expect({ status: `${response.status}`, text }).toEqual({
    status,
    text: expect.stringContaining(`"${code}"`),
  });
  const envelope = JSON.parse(text);
  const requestId = response.headers.get("x-proxy-request-id");
  expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  const ending = ` (request ${requestId})`;
  // Clients of the messages API want it.
  const type = "type" in envelope && { type: "error" };
  expect(envelope).toEqual({
    ...type,
    error: {
      message: expect.any(String),
      type: "proxy_error",
      code,
      param: param === undefined ? envelope.error.param : param,
    },
    proxy: { source: "proxy", request_id: requestId },
  });
  expect([null, "string"]).toContain(envelope.error.param === null ? null : typeof envelope.error.param);
  expect(response.headers.get("content-type")).toBe("application/json");
  expect(response.headers.get("x-proxy-error-source")).toBe("proxy");
  expect(response.headers.get("x-content-type-options")).toBe("nosniff");
  const { message } = envelope.error;
  return message.endsWith(ending) ? message.slice(0, -ending.length) : message;
}

/** A member or another principal, with a key of its own. */
export async function createCaller(harness: Harness, name: string, role: "member" | "admin" = "member") {
  const { principals, keys } = harness.deps;
  const principal = await principals.create({ name, role }, null);
  const { secret, plaintext } = await keys.create({ principalId: principal.id }, null);
  return { principal, keyId: secret.id, key: plaintext };
}

/** The `Cookie` header of a fresh session of the administrator. */
export async function signIn(harness: Harness): Promise<string> {
  const response = await call(harness, "POST", "/auth/password", {
    body: { password: PASSWORD },
    headers: {},
  });
  expect(response.status).toBe(200);
  return response.headers.get("set-cookie")!.split(";", 1)[0]!;
}

/** The `Cookie` header of a session of anybody. */
export async function openSession(
  harness: Harness,
  principal: Principal,
  sessionTtlSeconds = 3600,
): Promise<string> {
  const { identity, clock } = harness.deps;
  const session = await issueSession(
    { store: identity, secrets: harness.secrets, clock, ids: createSystemIds(), sessionTtlSeconds },
    principal,
  );
  return `proxy_session=${session.cookieValue}`;
}

const RAW_MS_MAX = 10_000;

/** Bytes as a hostile client sends them, and all that comes back until the server closes: send `Connection: close`. */
export function sendRaw(port: number, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const socket = net.connect(port, "127.0.0.1", () => socket.write(bytes));
    const timer = setTimeout(() => {
      socket.destroy();
      reject(new Error(`no end after ${RAW_MS_MAX} ms: ${Buffer.concat(chunks).toString("latin1")}`));
    }, RAW_MS_MAX);
    socket.on("data", (chunk) => chunks.push(Buffer.from(chunk)));
    // A reset after the answer is how a server ends that has not read all.
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      resolve(Buffer.concat(chunks).toString("latin1"));
    });
  });
}

/** A raw answer, taken apart as far as the envelope is concerned. */
export function toResponse(raw: string): Response {
  const [head = "", ...rest] = raw.split("\r\n\r\n");
  const [statusLine = "", ...lines] = head.split("\r\n");
  const headers = new Headers(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]),
  );
  return new Response(rest.join("\r\n\r\n"), { status: Number(statusLine.split(" ")[1]), headers });
}

/** A ledger in which nothing was recorded. */
const NO_STATS: StatsStore = {
  listRequests: async () => ({ rows: [], total: 0, snapped: null, truncated: false }),
  listRecorded: async () => ({ rows: [], total: 0, cursor: "0.0", hasGap: false }),
  readBreakdown: async () => ({
    rows: [],
    total: {
      requests: 0,
      ok: 0,
      cancelled: 0,
      upstreamError: 0,
      unreachable: 0,
      unpricedRequests: 0,
      pendingRequests: 0,
      pricedRequests: 0,
      unmeteredRequests: 0,
      costPico: null,
      costReportedPico: null,
      units: {},
      lastOkUs: null,
      durationUs: { p50: null, p95: null },
      firstByteUs: { p50: null, p95: null },
    },
    rowCount: 0,
    percentiles: "exact",
    snapped: null,
    truncated: false,
  }),
  readSeries: async ({ bucket }) => ({ bucket, buckets: [], snapped: null, truncated: false }),
  readGroupedSeries: async () => ({ chunks: [], snapped: null, truncated: false }),
  readSummary: async () => ({ chunks: [], snapped: null, truncated: false }),
  readErrors: async () => ({ chunks: [], snapped: null, truncated: false }),
  readClientChanges: async ({ window }) => ({ window, changes: [], snapped: null, truncated: false }),
  readRetryStorms: async () => ({
    storms: [],
    total: { storms: 0, attempts: 0, costPico: null },
    snapped: null,
    truncated: false,
  }),
  readMissingPrices: async () => ({ rows: [], snapped: null, truncated: false }),
  readBilledDay: async () => ({ rows: [], snapped: null, truncated: false }),
  readStatement: async () => ({
    hash: "",
    total: { requests: 0, unpricedRequests: 0, unmeteredRequests: 0, costPico: null },
    repricings: [],
    rows: [],
    snapped: null,
    truncated: false,
  }),
  reconcile: async (files) => {
    const bills = readBills(files);
    return {
      ...reconcile([{ bills, ledger: [] }]),
      bills: bills.map(toSummary),
      snapped: null,
      truncated: false,
    };
  },
  readModelUse: async () => ({ uses: [], unitCosts: "exact", snapped: null, truncated: false }),
  readCostWindows: async ({ window, before }) => ({
    before: { window: before, models: [], rows: "exact" },
    now: { window, models: [], rows: "exact" },
    snapped: null,
    truncated: false,
  }),
  readFacets: async () => ({
    principals: [],
    keyIds: [],
    providers: [],
    models: [],
    clients: [],
    tags: [],
    counts: { principals: [], keys: [], providers: [], models: [], clients: [], tags: [] },
    cut: { principals: false, keys: false, providers: false, models: false, clients: false, tags: false },
    snapped: null,
    truncated: false,
  }),
};
