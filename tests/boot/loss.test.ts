import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runLocal } from "../cli/terminal.ts";
import { startApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
beforeEach(() => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
});
afterEach(() => folder.remove());

const run = (...line: string[]) => runLocal(dataDir, line);
const at = (name: string) => join(dataDir, name);

function remove(name: string): void {
  for (const suffix of ["", "-wal", "-shm"]) rmSync(at(`${name}${suffix}`), { force: true });
}

async function findCheck(name: string) {
  const { code, data } = await runLocal(dataDir, ["doctor", "--json"], { env: { PROXY_PORT: "0" } });
  const { checks }: { checks: { name: string; status: string; finding: string; advice: string | null }[] } =
    JSON.parse(data);
  return { code, checks, check: checks.find((check) => check.name === name) };
}

describe("an installation that has lost a database", () => {
  test.each([
    ["catalog.db", "so all keys and providers would be gone"],
    ["usage.db", "so all recorded requests would be gone"],
  ])("without %s starts with nothing instead of an empty one, and says how to go on", async (name, loss) => {
    await (await startApp({ dataDir })).stop();
    const journal = readdirSync(at("journal"));
    remove(name);
    const refused = { code: 78, data: "" };
    for (const line of [
      ["serve", "--port", "0"],
      ["key", "list"],
      ["admin", "bootstrap"],
      ["backup", join(folder.path, "backup")],
    ]) {
      const { code, data, messages } = await run(...line);
      expect({ line, code, data }).toEqual({ line, ...refused });
      expect(messages).toContain(`${at(name)} is missing beside `);
      expect(messages).toContain(loss);
      expect(messages).toContain("lockport restore FILE --force");
      expect(messages.trim().split("\n")).toHaveLength(1);
    }
    expect(existsSync(at(name))).toBe(false);
    expect(readdirSync(at("journal"))).toEqual(journal);
    expect(readdirSync(folder.path)).toEqual(["data"]);

    const { code, checks, check } = await findCheck(name);
    expect(code).toBe(1);
    expect(check).toMatchObject({ status: "fail" });
    expect(check?.advice).toStartWith("Restore a backup");
    expect(checks.filter(({ status }) => status === "fail")).toHaveLength(1);
  });

  test("without both and with its journal is one that has lost its catalog", async () => {
    await (await startApp({ dataDir })).stop();
    for (const name of ["catalog.db", "usage.db"]) remove(name);
    const { code, messages } = await run("serve", "--port", "0");
    expect(code).toBe(78);
    expect(messages).toContain(`${at("catalog.db")} is missing beside ${at("journal")}`);
  });

  test("whose rest was moved away begins anew", async () => {
    await (await startApp({ dataDir })).stop();
    remove("usage.db");
    rmSync(at("journal"), { recursive: true });
    const app = await startApp({ dataDir });
    expect((await app.api("GET", "/my/keys")).status).toBe(200);
    await app.stop();
    for (const name of ["catalog.db", "usage.db"]) remove(name);
    rmSync(at("journal"), { recursive: true });
    expect((await run("admin", "bootstrap")).code).toBe(0);
  });

  test("whose catalog is elsewhere is told the setting that names it", async () => {
    const env = { PROXY_DATABASE_URL: `sqlite:${join(folder.path, "elsewhere", "catalog.db")}` };
    await (await startApp({ dataDir })).stop();
    const { code, messages } = await runLocal(dataDir, ["key", "list"], { env });
    expect(code).toBe(78);
    expect(messages).toContain("or correct PROXY_DATABASE_URL");
  });
});

describe("a first start that was cut off", () => {
  test.each([
    { when: "after its secret key", hasCatalog: false, empty: [] },
    { when: "after its catalog", hasCatalog: true, empty: [] },
    { when: "while the catalog was made", hasCatalog: false, empty: ["catalog.db"] },
    { when: "while the usage database was made", hasCatalog: true, empty: ["usage.db"] },
  ])("$when goes on", async ({ hasCatalog, empty }) => {
    await run("admin", "bootstrap");
    if (!hasCatalog) remove("catalog.db");
    for (const name of empty) writeFileSync(at(name), "", { mode: 0o600 });
    const key = readFileSync(at("secret.key"), "utf8");
    const { code } = await findCheck("usage.db");
    expect(code).toBe(0);
    const app = await startApp({ dataDir });
    expect((await app.api("GET", "/my/keys")).status).toBe(200);
    await app.stop();
    expect(readFileSync(at("secret.key"), "utf8")).toBe(key);
  });

  test("before its first segment, as a backup without requests is restored, goes on", async () => {
    await run("admin", "bootstrap");
    mkdirSync(at("journal"), { mode: 0o700 });
    await (await startApp({ dataDir })).stop();
    expect(existsSync(at("usage.db"))).toBe(true);
  });
});
