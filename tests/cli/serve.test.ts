import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { findListenFault, toListenError } from "#boot/settings/listen-address.ts";
import { engineEnvironment } from "../support/engine.ts";
import { executable } from "../support/executable.ts";
import { useFolder } from "../support/folder.ts";
import { errorsOf, runProcess, startProcess } from "../support/process.ts";
import { startOnScreen } from "./screen.ts";
import { runLocal } from "./terminal.ts";

const LOCKPORT = await executable();

const folder = useFolder();
let env: Record<string, string>;

beforeEach(async () => {
  env = await engineEnvironment(folder.data);
});

describe("lockport serve", () => {
  test.each([
    ["--port", "80000"],
    ["--port", "many"],
    ["--port", ""],
    ["--host", "http://127.0.0.1"],
  ])("with %s %p is a usage error that names the flag, and makes nothing", async (flag, value) => {
    const { code, data, messages } = await runLocal(folder.data, ["serve", flag, value]);
    expect({ code, data }).toEqual({ code: 2, data: "" });
    expect(messages).toStartWith(`lockport: ${flag} must be `);
    expect(messages.trim().split("\n")).toHaveLength(1);
    expect(existsSync(folder.data)).toBe(false);
  });

  test("with such a value in its variable is a setting that is wrong, told as a line of the log unless a person reads it", async () => {
    const asked = { env: { PROXY_PORT: "80000" } };
    const { code, messages } = await runLocal(folder.data, ["serve"], asked);
    expect(code).toBe(78);
    expect(JSON.parse(messages)).toMatchObject({
      ts: expect.any(String),
      level: "error",
      message: expect.stringMatching(/^PROXY_PORT must be/),
      exit_code: 78,
    });
    const read = await runLocal(folder.data, ["serve"], { ...asked, screens: true });
    expect(Bun.stripANSI(read.messages)).toStartWith("lockport: PROXY_PORT must be");
  });

  test("on a name that does not resolve says so before it makes anything, and ends with 78", async () => {
    const line = ["serve", "--port", "0", "--host", "no-such-host.invalid", "--data-dir", folder.data];
    const { code, data, messages } = await runProcess([LOCKPORT, ...line], { env });
    expect({ code, data }).toEqual({ code: 78, data: "" });
    expect(errorsOf(messages)).toEqual([
      expect.stringMatching(/^The host no-such-host\.invalid does not resolve to an address\. Set /),
    ]);
    expect(existsSync(folder.data)).toBe(false);
  }, 30_000);

  test("says of each address that it cannot listen on what is wrong with that one and what to do, before it makes anything", async () => {
    const holder = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Response() });
    const port = String(holder.port);
    const faults = [
      ["203.0.113.1", "0", "203.0.113.1 is not an address of this machine. Set --host or PROXY_HOST to "],
      ["127.0.0.1", port, `127.0.0.1:${port} is taken by another process. Stop that process, or choose `],
    ] as const;
    try {
      for (const [host, taken, sentence] of faults) {
        const line = ["serve", "--host", host, "--port", taken, "--data-dir", folder.data];
        const { code, messages } = await runProcess([LOCKPORT, ...line], { env });
        expect(code).toBe(78);
        expect(errorsOf(messages)).toEqual([expect.stringContaining(sentence)]);
        expect(existsSync(folder.data)).toBe(false);
      }
    } finally {
      await holder.stop(true);
    }
  }, 30_000);

  test.each([
    ["EACCES", "permission", "This user may not listen on 127.0.0.1:80. Choose a port above 1023 "],
    [
      "EAFNOSUPPORT",
      "configuration",
      "127.0.0.1 is of a kind of address that this machine cannot listen on. ",
    ],
    ["EWHATEVER", "configuration", "Nothing can listen on 127.0.0.1:80 (EWHATEVER). Choose others "],
  ] as const)(
    "tells %s of the system in a sentence, and asks nobody to report it",
    async (code, kind, sentence) => {
      const cause = Object.assign(new Error("listen"), { code });
      const refusal = toListenError(await findListenFault(cause, { host: "127.0.0.1", port: 80 }), cause);
      expect(refusal.kind).toBe(kind);
      expect(refusal.message).toStartWith(sentence);
    },
  );
});

describe.skipIf(process.platform === "win32")("the first lockport serve on a screen", () => {
  async function readGreeting(more: Record<string, string> = {}): Promise<string> {
    const line = ["serve", "--port", "0", "--data-dir", folder.data];
    const screen = startOnScreen(line, { ...env, ...more });
    try {
      return await screen.shows(/Next: .*\r/);
    } finally {
      process.kill(screen.pid, "SIGTERM");
      await screen.exited;
    }
  }

  test("prints a link that signs in, also where admin bootstrap has made the folder, and the second does not", async () => {
    await runLocal(folder.data, ["admin", "bootstrap"]);
    expect(await readGreeting()).toContain("/#login=lpl_");
    expect(await readGreeting()).not.toContain("/#login=");
  }, 30_000);

  test("prints none where nobody is admin, and makes no admin for it", async () => {
    await runLocal(folder.data, ["admin", "bootstrap", "--name", "ada"]);
    expect(await readGreeting({ PROXY_ADMIN_PASSWORD_DISABLED: "true" })).not.toContain("/#login=");
    const { data } = await runLocal(folder.data, ["principal", "list", "--json"]);
    expect(data).not.toContain('"name": "admin"');
    expect(data).toContain('"ada"');
  }, 30_000);
});

const TEST_MS_MAX = 60_000;

async function readNext(): Promise<string | null> {
  const server = await startProcess([LOCKPORT], { env: { ...env, PROXY_DATA_DIR: folder.data } });
  expect(await server.stop()).toBe(0);
  return /^Next: .*$/m.exec(server.output())?.[0] ?? null;
}

async function run(...line: string[]): Promise<string> {
  const { code, data, messages } = await runLocal(folder.data, line);
  expect(`${code} ${messages.includes("(")}`).toBe("0 false");
  return data;
}

test(
  "the server's start names the first thing that is missing: an admin's key, a provider, a model; and then nothing",
  async () => {
    expect(await readNext()).toMatch(/ admin bootstrap {3}\(prints a first admin API key\)$/);
    await run("principal", "create", "ada");
    await run("key", "create", "--principal", "ada");
    expect(await readNext()).toContain("admin bootstrap");

    await run("admin", "bootstrap", "--name", "boss");
    const second = await readNext();
    expect(second).toContain(" provider add --help ");
    expect(second).not.toContain("bootstrap");

    await run("provider", "add", "local", "--base-url", "http://127.0.0.1:9/v1", "--no-api-key");
    expect(await readNext()).toContain(" provider discover local ");

    await run("model", "add", "m", "--provider", "local", "--upstream-name", "um");
    expect(await readNext()).toBeNull();
  },
  TEST_MS_MAX,
);
