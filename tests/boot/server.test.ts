import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ADMIN_PRINCIPAL_NAME } from "#identity/principal.ts";
import { startApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";
import { startProcess } from "../support/process.ts";

let folder: ReturnType<typeof makeFolder>;
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => folder.remove());

describe("the server in a process of others", () => {
  test("starts on a free port with a principal admin, answers, and is gone when it has stopped", async () => {
    const app = await startApp();
    expect(await (await fetch(`${app.url}/healthz`)).json()).toEqual({ status: "ok" });
    const principals = await (await app.api("GET", "/admin/v1/principals")).json();
    expect(principals).toMatchObject({
      principals: [{ name: ADMIN_PRINCIPAL_NAME, role: "admin" }],
      total: 1,
    });
    await app.stop();
    expect(fetch(`${app.url}/healthz`)).rejects.toThrow();
  });

  test("stopping twice is stopping once", async () => {
    const app = await startApp();
    await Promise.all([app.stop(), app.stop()]);
  });

  test("keeps its data over a restart, and makes neither a second admin nor another password", async () => {
    const dataDir = join(folder.path, "data");
    const first = await startApp({ dataDir });
    await first.api("POST", "/admin/v1/providers", { name: "up", base_url: "http://127.0.0.1:9/v1" });
    await first.stop();
    const second = await startApp({ dataDir });
    expect(await (await second.api("GET", "/admin/v1/principals")).json()).toMatchObject({ total: 1 });
    const withOldKey = { authorization: `Bearer ${first.adminKey}` };
    expect(
      await (await second.api("GET", "/admin/v1/providers", undefined, withOldKey)).json(),
    ).toMatchObject({
      providers: [{ name: "up" }],
    });
    await second.stop();
  });

  test("without password sign-in no admin is made on an installation that has principals", async () => {
    const app = await startApp({ adminPassword: null, adminPasswordEnabled: false });
    const signIn = await app.api("POST", "/auth/password", { password: "whatever it is" }, {});
    expect(signIn.status).toBe(404);
    expect(await signIn.json()).toMatchObject({ error: { code: "password_login_disabled" } });
    await app.stop();
  });
});

describe("SIGHUP", () => {
  const command = [process.execPath, join(import.meta.dir, "../../src/main.ts")];

  test("drains and ends with exit code 0, as SIGTERM does", async () => {
    const server = await startProcess(command, { env: { PROXY_DATA_DIR: join(folder.path, "data") } });
    server.signal("SIGHUP");
    expect(await server.exited).toBe(0);
    expect(server.output()).toContain(`"signal":"SIGHUP"`);
    expect(server.output()).toContain(`"message":"stopped"`);
  }, 30_000);

  test.skipIf(process.platform !== "linux")(
    "ends nothing under nohup, and SIGTERM still does",
    async () => {
      const server = await startProcess(["nohup", ...command], {
        env: { PROXY_DATA_DIR: join(folder.path, "data") },
      });
      server.signal("SIGHUP");
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
      expect(await server.stop()).toBe(0);
      expect(server.output()).toContain(`"signal":"SIGTERM"`);
      expect(server.output()).not.toContain("SIGHUP");
    },
    30_000,
  );
});

describe("reliability", () => {
  test("a failure that nobody caught is logged by its kind alone, and the process goes on serving", async () => {
    const command = [process.execPath, join(import.meta.dir, "child-with-bugs.ts")];
    const server = await startProcess(command, { env: { PROXY_DATA_DIR: join(folder.path, "data") } });
    while (!/uncaught exception/.test(server.output()) || !/unhandled rejection/.test(server.output())) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(server.output()).toContain("TypeError");
    expect(server.output()).toContain("RangeError");
    expect(server.output()).not.toContain("secret");
    expect(await server.stop()).toBe(0);
  }, 30_000);
});
