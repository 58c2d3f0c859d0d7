import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "./folder.ts";
import { findFreePort } from "./free-port.ts";
import { cleanEnvironment } from "./process.ts";
import { asServer, giveToServer, SUPERUSER } from "./postgres-cluster.ts";
import type { TestServer } from "./postgres.ts";

const PGBOUNCER = Bun.which("pgbouncer", { PATH: `/usr/sbin:${process.env["PATH"] ?? ""}` });
const START_MS_MAX = 10_000;

export const pgbouncerMissing = PGBOUNCER === null && process.env["CI"] !== "true";

export interface TestPooler extends AsyncDisposable {
  readonly url: string;
}

/** Debian's PgBouncer in transaction mode before `server`; `ignored` are settings of a session that it takes and forgets. */
export async function startPgBouncer(server: TestServer, ignored: readonly string[]): Promise<TestPooler> {
  if (PGBOUNCER === null) throw new Error("PgBouncer is not installed: apt install pgbouncer");
  const folder = makeFolder();
  const own = join(folder.path, "pooler");
  mkdirSync(own, { mode: 0o700 });
  chmodSync(folder.path, 0o711);
  const port = findFreePort();
  writeFileSync(join(own, "users"), `"${SUPERUSER}" ""\n`);
  writeFileSync(
    join(own, "pgbouncer.ini"),
    `[databases]
postgres = host=127.0.0.1 port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = trust
auth_file = ${join(own, "users")}
pool_mode = transaction
${ignored.length === 0 ? "" : `ignore_startup_parameters = ${ignored.join(",")}`}
`,
  );
  for (const path of [own, join(own, "users"), join(own, "pgbouncer.ini")]) giveToServer(path);
  const pooler = Bun.spawn(asServer([PGBOUNCER, "-q", join(own, "pgbouncer.ini")]), {
    cwd: own,
    env: cleanEnvironment({}),
    stdio: ["ignore", "ignore", Bun.file(join(own, "log"))],
  });
  const stop = async () => {
    pooler.kill("SIGKILL");
    await pooler.exited;
    folder.remove();
  };
  const end = performance.now() + START_MS_MAX;
  while (!(await isListening(port))) {
    if (pooler.exitCode !== null || performance.now() > end) {
      await stop();
      throw new Error("PgBouncer did not start");
    }
    await Bun.sleep(10);
  }
  return { url: `postgres://${SUPERUSER}@127.0.0.1:${port}/postgres`, [Symbol.asyncDispose]: stop };
}

async function isListening(port: number): Promise<boolean> {
  try {
    const socket = await Bun.connect({ hostname: "127.0.0.1", port, socket: { data() {} } });
    socket.end();
    return true;
  } catch {
    return false;
  }
}
