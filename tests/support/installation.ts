import { cpSync, mkdtempSync } from "node:fs";
import { join } from "node:path";
import { engineEnvironment, isOnPostgres } from "./engine.ts";
import { makeFolder } from "./folder.ts";
import { runProcess, startProcess, type RunningProcess } from "./process.ts";
import { runFolder } from "./run-folder.ts";

export interface Installation {
  /** Readable and passable by other users, so that a test may run the server as somebody else. */
  readonly folder: string;
  readonly dataDir: string;
  /** An API key of `admin`. */
  readonly adminKey: string;
  /** A local command. */
  run(...args: string[]): ReturnType<typeof runProcess>;
  /** `lockport serve` on this data folder; `wrapper` is a command line that runs it. */
  start(options?: StartOptions): Promise<RunningProcess>;
  /** Ends what still runs, and removes the folder. */
  remove(): Promise<void>;
}

export interface StartOptions {
  readonly env?: Record<string, string>;
  readonly wrapper?: readonly string[];
}

interface Bootstrapped {
  readonly dataDir: string;
  readonly adminKey: string;
}

/** By executable: what is made once for this process, in the folder of its run. */
const made = new Map<string, Promise<Bootstrapped>>();

/** A data folder of its own with the principal `admin` and a key, as the executable's own command makes it. */
export async function makeInstallation(lockport: string): Promise<Installation> {
  const folder = makeFolder();
  const dataDir = join(folder.path, "data");
  const env = { PROXY_DATA_DIR: dataDir, ...(await engineEnvironment(dataDir)) };
  const servers: RunningProcess[] = [];
  const adminKey = await (isOnPostgres ? bootstrap(lockport, env) : copyBootstrapped(lockport, dataDir));
  return {
    folder: folder.path,
    dataDir,
    adminKey,
    run: (...args) => runProcess([lockport, ...args], { env }),
    async start(options = {}) {
      const command = [...(options.wrapper ?? []), lockport];
      const server = await startProcess(command, { env: { ...env, ...options.env } });
      servers.push(server);
      return server;
    },
    async remove() {
      for (const server of servers) server.signal("SIGKILL");
      await Promise.all(servers.map((server) => server.exited));
      folder.remove();
    },
  };
}

/** Returns the key. */
async function bootstrap(lockport: string, env: Record<string, string>): Promise<string> {
  const { code, data, messages } = await runProcess([lockport, "admin", "bootstrap"], { env });
  if (code !== 0) throw new Error(`admin bootstrap failed: ${messages}`);
  return data.trim();
}

async function copyBootstrapped(lockport: string, dataDir: string): Promise<string> {
  const before = made.get(lockport) ?? bootstrapOnce(lockport);
  made.set(lockport, before);
  const { dataDir: from, adminKey } = await before;
  cpSync(from, dataDir, { recursive: true, preserveTimestamps: true });
  return adminKey;
}

async function bootstrapOnce(lockport: string): Promise<Bootstrapped> {
  const dataDir = join(mkdtempSync(join(runFolder(), "bootstrapped-")), "data");
  return { dataDir, adminKey: await bootstrap(lockport, { PROXY_DATA_DIR: dataDir }) };
}

export interface Provided {
  readonly name: string;
  /** With `/v1`. */
  readonly baseUrl: string;
  readonly apiKey?: string;
  readonly more?: Record<string, unknown>;
  /** Alias → what the provider calls it. */
  readonly models: Record<string, string>;
  readonly pricing?: Record<string, number>;
  /** Those of the paths that are always open, where nothing is said. */
  readonly capabilities?: readonly string[];
}

const FIRST_CAPABILITIES = ["chat", "chat_stream", "completions", "embeddings"];

/** Makes a provider and its models over HTTP; throws when any of it is refused. */
export async function provide(url: string, adminKey: string, provided: Provided): Promise<void> {
  const { name, baseUrl, apiKey, more, models, pricing, capabilities = FIRST_CAPABILITIES } = provided;
  const provider = { name, base_url: baseUrl, ...(apiKey === undefined ? {} : { api_key: apiKey }), ...more };
  await created(await callApi(url, adminKey, "POST", "/admin/v1/providers", provider));
  for (const [alias, upstreamName] of Object.entries(models)) {
    const model = { alias, provider: name, upstream_name: upstreamName, capabilities };
    const priced = pricing === undefined ? model : { ...model, pricing };
    await created(await callApi(url, adminKey, "POST", "/admin/v1/models", priced));
  }
}

/** A JSON request with this key. A text goes as it is. */
export function callApi(
  url: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    redirect: "manual",
    ...(body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
}

export interface LoggedRequest {
  readonly model: string;
  readonly upstream_name: string;
  readonly provider: string;
  readonly endpoint: string;
  readonly outcome: string;
  readonly error_kind: string | null;
  readonly status_code: number;
  readonly streamed: boolean;
  readonly cost: number | null;
  readonly units: Record<string, number>;
  readonly tags: readonly string[];
}

/** The newest 500 events, those with this tag only when one is given. */
export async function requestLog(url: string, adminKey: string, tag?: string): Promise<LoggedRequest[]> {
  const filter = tag === undefined ? "" : `&tag=${encodeURIComponent(tag)}`;
  const response = await callApi(url, adminKey, "GET", `/admin/v1/requests?limit=500${filter}`);
  if (response.status !== 200) throw new Error(`the request log answered ${response.status}`);
  return JSON.parse(await response.text()).requests;
}

async function created(response: Response): Promise<void> {
  if (response.status !== 201) throw new Error(`${response.status}: ${await response.text()}`);
}
