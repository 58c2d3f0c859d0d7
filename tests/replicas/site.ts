import { join } from "node:path";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { callApi } from "../support/installation.ts";
import { startPostgres, type TestSchema, type TestServer } from "../support/postgres.ts";
import { runProcess, startProcess, type RunningProcess } from "../support/process.ts";
import { createTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { until } from "../support/waiting.ts";

/** The settings that a server on PostgreSQL is given beside its database and its folder. */
export const SHARED_SETTINGS = {
  PROXY_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
  PROXY_ADMIN_PASSWORD_DISABLED: "true",
};

export interface SiteOptions {
  readonly replicas: number;
  /** Settings of every replica. */
  readonly env?: Record<string, string>;
  /** Which it leaves running; without one it starts its own, which may be stopped. */
  readonly server?: TestServer;
}

/** Executables on one PostgreSQL, each with a data folder and a network of its own. */
export interface Site extends AsyncDisposable {
  readonly database: TestServer;
  readonly schema: TestSchema;
  readonly adminKey: string;
  readonly replicas: readonly Replica[];
  /** A local command on the database, past the networks of the replicas. */
  run(...args: string[]): ReturnType<typeof runProcess>;
  /** A JSON request to a replica with the key of `admin`. */
  ask(
    replica: Replica,
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<Response>;
  /** The JSON of an answer of 200 to `admin`. */
  read(replica: Replica, path: string): Promise<any>;
  /** Until every replica tells that so many requests are recorded. */
  untilRecorded(count: number, msMax?: number): Promise<void>;
}

export interface Replica {
  readonly name: string;
  readonly dataDir: string;
  /** Its way to the database. */
  readonly network: TcpProxy;
  /** Where it listens, from its first start to the end of the test. */
  readonly url: string;
  readonly process: RunningProcess;
  /** Starts it again on its port, after it has ended. */
  restart(env?: Record<string, string>): Promise<void>;
  /** SIGKILL, and its end. */
  kill(): Promise<void>;
}

/** Starts PostgreSQL unless there is one, an installation in a schema of its own, and the replicas together. */
export async function startSite({ replicas: count, env = {}, server }: SiteOptions): Promise<Site> {
  const lockport = await executable();
  const database = server ?? (await startPostgres());
  const schema = database.schema();
  const folder = makeFolder();
  const settings = { ...SHARED_SETTINGS, PROXY_DATABASE_SCHEMA: schema.schema, ...env };
  const local = { ...settings, PROXY_DATABASE_URL: schema.url, PROXY_DATA_DIR: join(folder.path, "local") };
  const run = (...args: string[]) =>
    runProcess([lockport, ...args], { env: { ...local, LOCKPORT_API_KEY: apiKey } });
  let apiKey = "";
  const replicas: (Replica & { end(): Promise<void> })[] = [];
  const stopAll = async () => {
    await Promise.all(replicas.map((replica) => replica.end()));
    await (server === undefined ? database : schema)[Symbol.asyncDispose]();
    folder.remove();
  };
  try {
    const bootstrap = await run("admin", "bootstrap");
    if (bootstrap.code !== 0) throw new Error(`admin bootstrap failed: ${bootstrap.messages}`);
    const adminKey = bootstrap.data.trim();
    apiKey = adminKey;
    const names = Array.from({ length: count }, (_, index) => `replica-${index}`);
    replicas.push(
      ...(await Promise.all(
        names.map((name) =>
          startReplica(lockport, {
            name,
            dataDir: join(folder.path, name),
            network: createTcpProxy(database.port),
            env: settings,
            url: schema.url,
          }),
        ),
      )),
    );
    const ask: Site["ask"] = ({ url }, method, path, body, headers) =>
      callApi(url, adminKey, method, path, body, headers);
    const read: Site["read"] = async (replica, path) => {
      const response = await ask(replica, "GET", path);
      const text = await response.text();
      if (response.status !== 200) throw new Error(`${path} answered ${response.status}: ${text}`);
      return JSON.parse(text);
    };
    return {
      database,
      schema,
      adminKey,
      replicas,
      run,
      ask,
      read,
      async untilRecorded(wanted, msMax) {
        let recorded = 0;
        for (const replica of replicas)
          await until(
            async () => {
              const { total } = await read(replica, "/stats/requests?limit=1").catch(() => ({ total: 0 }));
              return (recorded = total) >= wanted;
            },
            () => `${wanted} requests are recorded, and not ${recorded}`,
            msMax,
          );
      },
      [Symbol.asyncDispose]: stopAll,
    };
  } catch (cause) {
    await stopAll();
    throw cause;
  }
}

interface ReplicaOptions {
  readonly name: string;
  readonly dataDir: string;
  readonly network: TcpProxy;
  readonly env: Record<string, string>;
  /** The URL of the database. */
  readonly url: string;
}

async function startReplica(
  lockport: string,
  { name, dataDir, network, env, url }: ReplicaOptions,
): Promise<Replica & { end(): Promise<void> }> {
  const settings = { ...env, PROXY_DATABASE_URL: network.toUrl(url), PROXY_DATA_DIR: dataDir };
  const start = (more: Record<string, string> = {}, port = 0) =>
    startProcess([lockport], { env: { ...settings, ...more }, port });
  let running = await start();
  const { url: address } = running;
  const kill = async () => {
    running.signal("SIGCONT");
    running.signal("SIGKILL");
    await running.exited;
  };
  return {
    name,
    dataDir,
    network,
    url: address,
    get process() {
      return running;
    },
    async restart(more) {
      running = await start(more, Number(new URL(address).port));
    },
    kill,
    async end() {
      await kill();
      network.stop();
    },
  };
}
