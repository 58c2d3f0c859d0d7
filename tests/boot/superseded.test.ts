import { afterEach, beforeEach, expect, test } from "bun:test";
import { Database } from "bun:sqlite";
import { existsSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../support/folder.ts";
import { postgresMissing, sharedPostgres } from "../support/postgres.ts";
import { type RunningProcess, startProcess } from "../support/process.ts";

let folder: ReturnType<typeof makeFolder>;
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => folder.remove());

function isWritten(path: string): boolean {
  const database = new Database(path);
  try {
    database.run("BEGIN IMMEDIATE");
    database.run("ROLLBACK");
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}

/** SIGSTOP is sent at once, and takes hold of each thread when that is next run: on a busy machine some go on for a while. */
async function stop(server: RunningProcess): Promise<void> {
  server.signal("SIGSTOP");
  const threads = `/proc/${server.pid}/task`;
  const isStopped = (thread: string) => /\) [Tt] /.test(readFileSync(join(threads, thread, "stat"), "utf8"));
  while (!readdirSync(threads).every(isStopped)) await Bun.sleep(1);
}

test("a server whose lock file was removed ends with 78 once another one serves from its folder, and leaves that one alone", async () => {
  const command = [process.execPath, join(import.meta.dir, "../../src/main.ts")];
  const dataDir = join(folder.path, "data");
  const env = { PROXY_DATA_DIR: dataDir };
  const first = await startProcess(command, { env });
  const locked = join(dataDir, "serving.lock");
  // Its lock is taken anew within a second: stopped, it cannot.
  await stop(first);
  // A process that is stopped in the middle of a transaction keeps the database locked, which is another story.
  while (isWritten(join(dataDir, "usage.db"))) {
    first.signal("SIGCONT");
    await Bun.sleep(20);
    await stop(first);
  }
  rmSync(locked);
  const second = await startProcess(command, { env });
  first.signal("SIGCONT");
  expect(await first.exited).toBe(78);
  expect(first.output()).toContain("another server has taken over the ledger");
  expect(first.output()).toContain(`Another lockport has taken over the folder ${dataDir}`);
  expect((await fetch(`${second.url}/healthz`)).status).toBe(200);
  expect(readFileSync(join(dataDir, "serving.json"), "utf8")).toContain(second.url);
  expect(existsSync(locked)).toBe(true);
  expect(second.output()).not.toContain("taken over");
  expect(await second.stop()).toBe(0);
}, 30_000);

test.skipIf(postgresMissing !== null)(
  "a replica whose lane the database has given to another ends with 78, says why, and starts again under a new one",
  async () => {
    const postgres = await sharedPostgres();
    await using schema = postgres.schema();
    const command = [process.execPath, join(import.meta.dir, "../../src/main.ts")];
    const dataDir = join(folder.path, "data");
    const env = {
      PROXY_DATA_DIR: dataDir,
      PROXY_DATABASE_URL: schema.url,
      PROXY_DATABASE_SCHEMA: schema.schema,
      PROXY_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
      PROXY_ADMIN_PASSWORD_DISABLED: "true",
    };
    const first = await startProcess(command, { env });
    // As in a database that was put back to before its first start, where a new replica was quicker.
    await postgres.sql(`UPDATE ${schema.schema}.spool SET id = 'another'`);
    expect(await first.exited).toBe(78);
    expect(first.output()).toContain("The database has another server in the place of this one");
    expect(first.output()).not.toContain("serving.lock");
    const second = await startProcess(command, { env });
    expect(
      await postgres.sql(
        `SELECT lane, id = 'another' AS "isOther" FROM ${schema.schema}.spool ORDER BY lane`,
      ),
    ).toEqual([
      { lane: 1, isOther: true },
      { lane: 2, isOther: false },
    ]);
    expect(await second.stop()).toBe(0);
  },
  30_000,
);
