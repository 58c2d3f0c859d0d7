import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
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
