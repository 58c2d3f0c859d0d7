import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";
import { startOnScreen } from "./screen.ts";
import { runLocal } from "./terminal.ts";

const LOCKPORT = await executable();

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;

beforeEach(() => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
});
afterEach(() => folder.remove());

describe("lockport serve", () => {
  test.each([
    ["--port", "80000"],
    ["--port", "many"],
    ["--port", ""],
    ["--host", "http://127.0.0.1"],
  ])("with %s %p is a usage error that names the flag, and makes nothing", async (flag, value) => {
    const { code, data, messages } = await runLocal(dataDir, ["serve", flag, value]);
    expect({ code, data }).toEqual({ code: 2, data: "" });
    expect(messages).toStartWith(`lockport: ${flag} must be `);
    expect(messages.trim().split("\n")).toHaveLength(1);
    expect(existsSync(dataDir)).toBe(false);
  });

  test("with such a value in its variable is a setting that is wrong", async () => {
    const { code, messages } = await runLocal(dataDir, ["serve"], { env: { PROXY_PORT: "80000" } });
    expect(code).toBe(78);
    expect(messages).toContain("PROXY_PORT must be");
  });

  test.each(["no-such-host.invalid", "203.0.113.1"])(
    "on %s, where it cannot listen, names PROXY_HOST and ends with 78",
    async (host) => {
      const line = ["serve", "--port", "0", "--host", host, "--data-dir", dataDir];
      const { code, messages } = await runProcess([LOCKPORT, ...line]);
      expect(code).toBe(78);
      expect(messages).toContain("lockport: PROXY_HOST ");
      expect(messages).not.toContain("unexpected failure");
    },
    30_000,
  );
});

describe.skipIf(process.platform === "win32")("the first lockport serve on a screen", () => {
  async function readGreeting(env: Record<string, string> = {}): Promise<string> {
    const screen = startOnScreen(["serve", "--port", "0", "--data-dir", dataDir], env);
    try {
      return await screen.shows(/Next: .*\r/);
    } finally {
      process.kill(screen.pid, "SIGTERM");
      await screen.exited;
    }
  }

  test("prints a link that signs in, also where admin bootstrap has made the folder, and the second does not", async () => {
    await runLocal(dataDir, ["admin", "bootstrap"]);
    expect(await readGreeting()).toContain("/#login=lpl_");
    expect(await readGreeting()).not.toContain("/#login=");
  }, 30_000);

  test("prints none where nobody is admin, and makes no admin for it", async () => {
    await runLocal(dataDir, ["admin", "bootstrap", "--name", "ada"]);
    expect(await readGreeting({ PROXY_ADMIN_PASSWORD_DISABLED: "true" })).not.toContain("/#login=");
    const { data } = await runLocal(dataDir, ["principal", "list", "--json"]);
    expect(data).not.toContain('"name": "admin"');
    expect(data).toContain('"ada"');
  }, 30_000);
});
