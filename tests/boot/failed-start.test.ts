import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { findServingAddress } from "#boot/folder/serving-address.ts";
import { createSystem } from "#boot/process/system.ts";
import { startServer } from "#boot/server.ts";
import { parseConfig } from "#boot/settings/config.ts";
import { lockDataFolder } from "#storage/files/folder-lock.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { startApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";

test("a start that fails behind its storage lets go of the folder, which another start then has", async () => {
  const folder = makeFolder();
  const dataDir = join(folder.path, "data");
  await (await startApp({ dataDir })).stop();
  const change = (sql: string) => {
    using catalog = new Database(join(dataDir, "catalog.db"), { readwrite: true });
    catalog.run(sql);
  };
  const config = parseConfig({
    PROXY_DATA_DIR: dataDir,
    PROXY_PORT: "0",
    PROXY_NOTICE_URL: "http://127.0.0.1:9/",
  });
  change("ALTER TABLE notices RENAME TO hidden");
  const system = createSystem({ logLevel: "error" });
  const failure: unknown = await startServer(config, system).catch((cause: unknown) => cause);
  expect(String(failure)).toContain("no such table: notices");
  lockDataFolder(dataDir).release();
  change("ALTER TABLE hidden RENAME TO notices");
  await (await startServer(config, system)).stop();
  folder.remove();
});

test("a failure of the journal's folder or of the lock file is told of these, and not of a database", () => {
  const refuse = () => {
    throw Object.assign(new Error("planted"), { code: "EACCES" });
  };
  for (const kept of ["journal", "lock file", "database"] as const) {
    expect(() => withSetupErrors("/data/x", refuse, kept)).toThrow(
      `The ${kept} /data/x cannot be read and written: check its owner and mode, and those of its folder.`,
    );
  }
});

test("a server listens before it starts the ledger's writer, and a start without a thread for it lets go of port and folder", async () => {
  const folder = makeFolder();
  const dataDir = join(folder.path, "data");
  const config = parseConfig({ PROXY_DATA_DIR: dataDir, PROXY_HOST: "127.0.0.1", PROXY_PORT: "0" });
  const system = createSystem({ logLevel: "error" });
  let port = 0;
  let listening: unknown = null;
  const { Worker: RealWorker } = globalThis;
  globalThis.Worker = new Proxy(RealWorker, {
    construct(target, [url]: [string]) {
      if (!url.includes("writer")) return new target(url);
      if (port === 0) {
        port = Number(new URL(findServingAddress(dataDir)?.url ?? "").port);
        listening = probe(port);
      }
      throw new Error("no thread can be started");
    },
  });
  try {
    const failure: unknown = await startServer(config, system).catch((cause: unknown) => cause);
    globalThis.Worker = RealWorker;
    expect(String(failure)).toContain("no thread can be started");
    expect(listening).toMatchObject({ code: "EADDRINUSE" });
    expect(probe(port)).toBe(port);
    await (await startServer(config, system)).stop();
  } finally {
    globalThis.Worker = RealWorker;
    folder.remove();
  }
});

/** Listens on a port of this machine, and no longer. Returns the port, or why it cannot be listened on. */
function probe(port: number): unknown {
  try {
    const server = Bun.serve({ port, hostname: "127.0.0.1", reusePort: false, fetch: () => new Response() });
    const { port: taken } = server;
    void server.stop(true);
    return taken;
  } catch (cause) {
    return cause;
  }
}
