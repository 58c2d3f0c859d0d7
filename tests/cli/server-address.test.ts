import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "#boot/settings/environment.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { runLocal } from "./terminal.ts";

/** Nobody listens there. */
const CLOSED = "1";

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
let app: TestApp;
beforeEach(async () => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
  app = await startApp({ dataDir });
});
afterEach(async () => {
  await app.stop();
  folder.remove();
});

const health = (env: Environment, ...flags: string[]) => runLocal(dataDir, ["health", ...flags], { env });

async function examinePort(env: Environment): Promise<{ status: string; finding: string }> {
  const { data } = await runLocal(dataDir, ["doctor", "--json"], { env });
  return JSON.parse(data).checks.find(({ name }: { name: string }) => name === "port");
}

describe("health and doctor", () => {
  test("look at the server that runs from the data folder, wherever it listens", async () => {
    for (const env of [{}, { PROXY_PORT: "" }, { PROXY_PORT: "0" }, { PROXY_HOST: "192.0.2.1" }]) {
      expect(await health(env)).toMatchObject({ code: 0, data: "ok\n" });
      expect(await examinePort(env)).toMatchObject({
        status: "ok",
        finding: `the server answers at ${app.url}`,
      });
    }
  });

  test("look where PROXY_PORT says when it is set, and --url goes before everything", async () => {
    const env = { PROXY_PORT: CLOSED };
    const { code, messages } = await health(env);
    expect(code).toBe(69);
    expect(messages).toContain(`127.0.0.1:${CLOSED}`);
    const check = await examinePort(env);
    expect(check.status).toBe("warn");
    expect(check.finding).toContain(`does not answer at http://127.0.0.1:${CLOSED}`);
    expect(await health(env, "--url", app.url)).toMatchObject({ code: 0 });
    expect((await health({}, "--url", `http://127.0.0.1:${CLOSED}`)).code).toBe(69);
  });

  test("take another folder's server with --data-dir, which --url excludes", async () => {
    const env = { PROXY_DATA_DIR: join(folder.path, "elsewhere"), PROXY_PORT: "0" };
    const absent = await health(env);
    expect({ code: absent.code, data: absent.data }).toEqual({ code: 2, data: "" });
    expect(absent.messages).toContain("name the server with --url");
    expect(await health(env, "--data-dir", dataDir)).toMatchObject({ code: 0, data: "ok\n" });
    expect((await health(env, "--data-dir", dataDir, "--url", app.url)).code).toBe(2);
    expect(existsSync(env.PROXY_DATA_DIR)).toBe(false);
  });
});

test("health goes by the settings where a killed server left its address, or the lock is damaged", async () => {
  const other = join(folder.path, "other");
  mkdirSync(other);
  writeFileSync(join(other, "serving.json"), JSON.stringify({ url: app.url, public_url: null }));
  const env = { PROXY_DATA_DIR: other, PROXY_PORT: "0" };
  expect((await health(env)).code).toBe(2);
  writeFileSync(
    join(other, "serving.lock"),
    "no database at all, and long enough to be looked at as one".repeat(20),
  );
  expect((await health(env)).code).toBe(2);
  expect((await health({ ...env, PROXY_PORT: new URL(app.url).port })).code).toBe(0);
});
