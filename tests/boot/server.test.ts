import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ADMIN_PRINCIPAL_NAME } from "#identity/principal.ts";
import { PRODUCT_VERSION } from "#kernel/version.ts";
import { startApp, type TestApp } from "../support/app.ts";
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
    const health = await fetch(`${app.url}/healthz`);
    expect(health.headers.get("x-proxy-version")).toBe(PRODUCT_VERSION);
    expect(await health.json()).toEqual({ status: "ok" });
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

  test.each([
    ["another password", { adminPassword: "another password" }],
    ["sign-in by password switched off", { adminPassword: null, adminPasswordEnabled: false }],
  ])(
    "started with %s, sessions made by the former one are dead for good; keys and other sessions are not",
    async (_, changed) => {
      const dataDir = join(folder.path, "data");
      const toCookie = (response: Response) => response.headers.get("set-cookie")?.split(";", 1)[0] ?? "";
      const first = await startApp({ dataDir });
      const token = await first.makeLoginToken();
      const byPassword = toCookie(
        await first.api("POST", "/auth/password", { password: first.adminPassword }, {}),
      );
      const byLink = toCookie(await first.api("POST", "/auth/login-link", { token }, {}));
      const statuses = async (app: TestApp) => {
        const credentials = [
          { cookie: byPassword },
          { cookie: byLink },
          { authorization: `Bearer ${first.adminKey}` },
        ];
        const answers = credentials.map((headers) => app.api("GET", "/my/keys", undefined, headers));
        return (await Promise.all(answers)).map(({ status }) => status);
      };
      expect(await statuses(first)).toEqual([200, 200, 200]);
      await first.stop();
      const second = await startApp({ dataDir, ...changed });
      expect(await statuses(second)).toEqual([401, 200, 200]);
      await second.stop();
      const third = await startApp({ dataDir });
      expect(await statuses(third)).toEqual([401, 200, 200]);
      await third.stop();
    },
  );

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
