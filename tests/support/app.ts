import { existsSync } from "node:fs";
import { join } from "node:path";
import { isOnFiles, parseConfig, type Config } from "#boot/settings/config.ts";
import { engineOf } from "#boot/settings/engine.ts";
import { type StartOptions, startServer } from "#boot/server.ts";
import { createSystem, type System } from "#boot/process/system.ts";
import { engineEnvironment } from "./engine.ts";
import { makeFolder } from "./folder.ts";
import { checkLedger } from "./invariants.ts";
import "./loopback.ts";

export interface TestApp {
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
  /** An API key of the principal `admin`. */
  readonly adminKey: string;
  /** The password of `admin`. */
  readonly adminPassword: string;
  readonly dataDir: string;
  /**
   * A JSON request with the admin key, unless `headers` says otherwise: `api("POST", "/admin/v1/keys", { principal })`.
   * A text or bytes go as they are.
   */
  api(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** The token of a login link of `admin`. */
  makeLoginToken(): Promise<string>;
  /** Ends it, and fails where its ledger does not add up. */
  stop(): Promise<void>;
}

const ADMIN_PASSWORD = "a password for tests";

/** The real server, in this process, on a free port, with a data folder of its own that goes when it stops. */
export async function startApp(
  overrides: Partial<Config> = {},
  systemOverrides: Partial<System> = {},
  start: Pick<StartOptions, "departure"> = {},
): Promise<TestApp> {
  const folder = overrides.dataDir === undefined ? makeFolder() : null;
  const dataDir = overrides.dataDir ?? join(folder?.path ?? "", "data");
  const config: Config = {
    ...parseConfig({
      PROXY_PORT: "0",
      PROXY_DATA_DIR: dataDir,
      PROXY_ADMIN_PASSWORD: ADMIN_PASSWORD,
      ...(await engineEnvironment(dataDir)),
    }),
    drainTimeoutSeconds: 2,
    ...overrides,
  };
  const system = { ...createSystem({ logLevel: "error" }), ...systemOverrides };
  const server = await startServer(config, system, start);
  const { keys, principals } = server.services.app;
  const admin = await principals.ensureAdmin();
  const { plaintext: adminKey } = await keys.create({ principalId: admin.id, label: "tests" }, null);
  return {
    url: server.url,
    adminKey,
    adminPassword: config.adminPassword ?? "",
    dataDir,
    api(method, path, body, headers = { authorization: `Bearer ${adminKey}` }) {
      const asked = fetch(server.url + path, {
        method,
        ...toRequestBody(body, headers),
        redirect: "manual",
      });
      // What a test that broke off leaves under way is no failure of the one after it.
      asked.catch(() => undefined);
      return asked;
    },
    makeLoginToken: async () => (await server.services.loginLinks.create(admin)).token,
    async stop() {
      try {
        await server.stop();
        // Gone when it was stopped before.
        if (existsSync(dataDir)) await requireWhole(config);
      } finally {
        folder?.remove();
      }
    },
  };
}

/** Throws where the ledger of a stopped server does not add up. */
async function requireWhole(config: Config): Promise<void> {
  if (isOnFiles(config)) {
    checkLedger(config.dataDir, { isAtRest: true });
    return;
  }
  const engine = await engineOf(config);
  const signal = new AbortController().signal;
  const checked = await engine.checkLedger({ ...config, signal, onShare: () => undefined });
  if (checked === null || checked.findings.length > 0 || checked.journal.waitingEnds > 0)
    throw new Error(`the ledger does not add up: ${JSON.stringify(checked)}`);
}

function toRequestBody(body: unknown, headers: Record<string, string>) {
  if (body === undefined) return { headers };
  const sent = { headers: { "content-type": "application/json", ...headers } };
  if (body instanceof Uint8Array) return { ...sent, body: new Uint8Array(body) };
  return { ...sent, body: typeof body === "string" ? body : JSON.stringify(body) };
}
