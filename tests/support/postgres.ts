import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SQL } from "bun";
import { findFreePort } from "./free-port.ts";
import { asServer, giveToServer, makeCluster, postgresPrograms, SUPERUSER } from "./postgres-cluster.ts";
import { cleanEnvironment } from "./process.ts";
import { runFolder } from "./run-folder.ts";

/** Why tests on PostgreSQL are skipped; null where they run. On CI they never are: it installs PostgreSQL itself. */
export const postgresMissing =
  postgresPrograms === null && process.env["CI"] !== "true"
    ? "PostgreSQL is not installed (Debian: apt install postgresql)"
    : null;

const START_MS_MAX = 30_000;
const POLL_MS = 5;
/**
 * The runtime ends the children of a test that takes too long by SIGTERM: a server that others share would refuse all of them. A
 * shell that knows no SIGTERM stands between, and ends the server when the test process has died.
 */
const GUARD = `trap '' TERM; "$@" & server=$!; trap 'kill -QUIT $server' QUIT; wait $server; wait $server`;

export interface TestServerOptions {
  /** Off: what a killed machine would lose is no matter here, and a test is quicker. */
  readonly fsync?: boolean;
  /** PEM files of the server's certificate; it offers TLS then. */
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly settings?: Record<string, string>;
}

/** Debian's PostgreSQL on loopback, in a folder of its own, as a user who is not root. Every connection is trusted but those by password. */
export interface TestServer extends AsyncDisposable {
  readonly port: number;
  /** The superuser's URL. */
  readonly url: string;
  readonly binFolder: string;
  /** The folder of its unix socket. */
  readonly socketFolder: string;
  /** The postmaster's process. */
  readonly pid: number;
  /** The URL of another role, with its password. */
  urlOf(user: string, password: string): string;
  /** A schema's name that no other test has; the schema and all in it is dropped at the end. It is not made. */
  schema(): TestSchema;
  /** By the superuser, on one connection, which keeps what a statement sets. */
  sql<Row>(text: string, parameters?: unknown[]): Promise<Row[]>;
  /** `immediate` is as a crash; `fast` ends transactions; it can be started again. */
  stop(mode?: "immediate" | "fast"): Promise<void>;
  start(): Promise<void>;
  /** Stops every process of the server where it stands, as a machine that hangs; connections stay open. */
  pause(): void;
  resume(): void;
}

export interface TestSchema extends AsyncDisposable {
  readonly url: string;
  readonly schema: string;
}

let shared: Promise<TestServer> | null = null;

/** The one server of this test process; it ends with it. */
export function sharedPostgres(): Promise<TestServer> {
  return (shared ??= startPostgres());
}

export async function startPostgres(options: TestServerOptions = {}): Promise<TestServer> {
  const binFolder = postgresPrograms;
  if (binFolder === null) throw new Error("PostgreSQL is not installed: apt install postgresql");
  const folder = mkdtempSync(join(runFolder(), "postgres-"));
  chmodSync(folder, 0o711);
  giveToServer(folder);
  const data = makeCluster(folder);
  writeFileSync(
    join(data, "pg_hba.conf"),
    `local all all trust\nhost all ${SUPERUSER} 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\n`,
  );
  const port = findFreePort();
  const settings = toSettings(folder, data, port, options);
  let server: { readonly guard: Bun.Subprocess; readonly pid: number } | null = null;

  const start = async (): Promise<void> => {
    rmSync(join(data, "postmaster.pid"), { force: true });
    const command = ["sh", "-c", GUARD, "postgres", join(binFolder, "postgres"), "-D", data, ...settings];
    const guard = Bun.spawn(asServer(command), {
      cwd: folder,
      env: cleanEnvironment({}),
      stdio: ["ignore", Bun.file(join(folder, "log")), Bun.file(join(folder, "log"))],
    });
    const end = performance.now() + START_MS_MAX;
    let pid = findReady(data);
    for (; pid === null; pid = findReady(data)) {
      if (guard.exitCode !== null || performance.now() > end) {
        throw new Error(`PostgreSQL did not start: ${readFileSync(join(folder, "log"), "utf8")}`);
      }
      await Bun.sleep(POLL_MS);
    }
    server = { guard, pid };
  };
  let client: SQL | null = null;
  const disconnect = async (): Promise<void> => {
    const former = client;
    client = null;
    await former?.close({ timeout: 0 }).catch(() => undefined);
  };
  const stop = async (mode: "immediate" | "fast" = "fast"): Promise<void> => {
    const running = server;
    server = null;
    await disconnect();
    if (running === null) return;
    signal(running.pid, mode === "fast" ? "SIGINT" : "SIGQUIT");
    await running.guard.exited;
  };
  const pidOf = (): number => {
    if (server === null) throw new Error("the server is stopped");
    return server.pid;
  };
  const end = () => {
    if (server !== null) signal(server.pid, "SIGQUIT");
    rmSync(folder, { recursive: true, force: true });
  };
  process.on("exit", end);
  await start();

  const url = `postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`;
  const sql = async <Row>(text: string, parameters?: unknown[]): Promise<Row[]> => {
    client ??= new SQL(url, { max: 1, prepare: false });
    return [...(await client.unsafe<Row[]>(text, parameters))];
  };
  let schemas = 0;
  return {
    port,
    url,
    binFolder,
    socketFolder: folder,
    get pid() {
      return pidOf();
    },
    urlOf: (user, password) => `postgres://${user}:${password}@127.0.0.1:${port}/postgres`,
    schema() {
      const schema = `test_${(schemas += 1)}`;
      const drop = async (): Promise<void> => {
        try {
          await sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
        } catch (cause) {
          // PostgreSQL ends the connections of a server that was killed a little later: one may still be in a transaction.
          if (!String(cause).includes("deadlock detected")) throw cause;
          await drop();
        }
      };
      return { url, schema, [Symbol.asyncDispose]: drop };
    },
    sql,
    stop,
    start,
    pause: () => signalAll(pidOf(), "SIGSTOP"),
    resume: () => signalAll(pidOf(), "SIGCONT"),
    async [Symbol.asyncDispose]() {
      process.off("exit", end);
      if (server !== null) signalAll(server.pid, "SIGCONT");
      await stop("immediate");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function toSettings(
  folder: string,
  data: string,
  port: number,
  { fsync, tls, settings }: TestServerOptions,
): string[] {
  const all: Record<string, string> = {
    port: String(port),
    listen_addresses: "127.0.0.1",
    unix_socket_directories: folder,
    max_connections: "100",
    shared_buffers: "16MB",
    fsync: fsync === true ? "on" : "off",
    full_page_writes: fsync === true ? "on" : "off",
    // What it writes to disk by itself has no part in these tests, and takes a core from them.
    autovacuum_naptime: "1h",
    max_wal_size: "256MB",
    log_min_messages: "warning",
    ...settings,
  };
  if (tls !== undefined) {
    const files = { ssl_cert_file: ["server.crt", tls.cert], ssl_key_file: ["server.key", tls.key] } as const;
    for (const [name, [file, text]] of Object.entries(files)) {
      const path = join(data, file);
      writeFileSync(path, text, { mode: 0o600 });
      giveToServer(path);
      all[name] = path;
    }
    all["ssl"] = "on";
  }
  return Object.entries(all).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
}

/** The postmaster's process, once connections are taken: its lock file says both (PostgreSQL's pidfile.h). */
function findReady(data: string): number | null {
  const path = join(data, "postmaster.pid");
  if (!existsSync(path)) return null;
  const lines = readFileSync(path, "utf8").split("\n");
  return lines[7]?.trim() === "ready" ? Number(lines[0]) : null;
}

/** The postmaster and its children, which a signal to it alone does not reach. */
function signalAll(pid: number, name: "SIGSTOP" | "SIGCONT"): void {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
  for (const one of [pid, ...children.split(" ").filter(Boolean).map(Number)]) signal(one, name);
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended meanwhile.
  }
}
