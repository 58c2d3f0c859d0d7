import { beforeEach, describe, expect, test } from "bun:test";
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { engineEnvironment, isOnPostgres } from "../support/engine.ts";
import { executable } from "../support/executable.ts";
import { startApp } from "../support/app.ts";
import { useFolder } from "../support/folder.ts";
import { runProcess, startProcess } from "../support/process.ts";
import { runLocal } from "./terminal.ts";

const LOCKPORT = await executable();
const SYSTEM = join(import.meta.dir, "../../src/boot/process/system.ts");
const STREAM = join(import.meta.dir, "../../src/boot/process/standard-stream.ts");
/** The rest of a command line of the shell; `"$@"` is the command. */
const inShell = (rest: string, line: string) =>
  runProcess(["bash", "-c", rest, "bash", LOCKPORT, ...line.split(" ")], { env });
/** The settings of an installation in this folder. */
const environmentOf = async (place: string) => ({
  PROXY_DATA_DIR: place,
  ...(await engineEnvironment(place)),
});

const folder = useFolder();
let env: Record<string, string>;
beforeEach(async () => {
  env = await environmentOf(folder.data);
  expect((await runLocal(folder.data, ["admin", "bootstrap"])).code).toBe(0);
});

const FULL = "lockport: The output could not be written: the disk is full (ENOSPC).\n";

describe("what could not be written", () => {
  test("because the disk is full is told in one sentence with exit code 1, and nothing waits for ever", async () => {
    for (const line of [
      "key create --principal admin",
      "key list",
      "key list --json",
      "export",
      "usage",
      "requests tail",
      "requests tail -f",
      "--help",
      "provider --help",
      "openapi",
      // There is none of PostgreSQL.
      ...(isOnPostgres ? [] : ["backup -"]),
    ]) {
      const { code, messages } = await inShell('"$@" >/dev/full', line);
      expect({ line, code }).toEqual({ line, code: 1 });
      expect(messages.split(FULL).length - 1).toBe(1);
    }
  }, 60_000);

  test("of a new secret takes it back, so that the same command can be run again, also for a first admin key", async () => {
    for (const rest of ['"$@" >/dev/full', '"$@" >&-', '"$@" --json >/dev/full']) {
      const own = join(folder.path, crypto.randomUUID());
      const ofOwn = await environmentOf(own);
      const runOwn = (end: string, line: string) =>
        runProcess(["bash", "-c", end, "bash", LOCKPORT, ...line.split(" ")], { env: ofOwn });
      const lost = await runOwn(rest, "admin bootstrap --if-missing");
      expect(lost.code).toBe(1);
      expect(lost.messages).toContain("The key of admin could not be shown and was deleted again");
      const again = await runOwn('"$@"', "admin bootstrap --if-missing");
      expect(again).toMatchObject({ code: 0, data: expect.stringMatching(/^lp_\w+\n$/) });
      for (const line of ["key create --principal admin", "relay-token create --principal admin"])
        expect(await runOwn(rest, line)).toMatchObject({ code: 1 });
      expect(JSON.parse((await runLocal(own, ["key", "list", "--json"])).data)).toHaveLength(1);
      expect((await runLocal(own, ["relay-token", "list", "--json"])).data).toBe("[]\n");
    }
  }, 60_000);

  test("of a secret that a server made takes it back there, also for an owner who is no admin", async () => {
    const app = await startApp();
    const member: any = await (
      await app.api("POST", "/admin/v1/principals", { name: "ada", kind: "user", role: "member" })
    ).json();
    expect(member.name).toBe("ada");
    const { key: memberKey }: any = await (
      await app.api("POST", "/admin/v1/keys", { principal: "ada" })
    ).json();
    const list = async (path: string, field: string) => {
      const body: any = await (await app.api("GET", path)).json();
      return body[field].length;
    };
    const keyCount = await list("/admin/v1/keys", "keys");
    for (const [line, key] of [
      ["key create --principal ada", app.adminKey],
      ["relay-token create", memberKey],
    ]) {
      const words = [LOCKPORT, ...line.split(" "), "--url", app.url];
      const lost = await runProcess(["bash", "-c", '"$@" >/dev/full', "bash", ...words], {
        env: { LOCKPORT_API_KEY: key },
      });
      expect({ line, code: lost.code }).toEqual({ line, code: 1 });
      expect(lost.messages).toContain("could not be shown and was deleted again");
    }
    expect(await list("/admin/v1/keys", "keys")).toBe(keyCount);
    expect(await list("/admin/v1/relay-tokens", "relay_tokens")).toBe(0);
    await app.stop();
  }, 30_000);

  test("beyond what the file may hold is told too, with what had room in the file", async () => {
    const path = join(folder.path, "openapi.json");
    // Blocks of 1024 bytes; the document has more.
    const { code, messages } = await inShell(`ulimit -f 8; "$@" >${path}`, "openapi");
    expect({ code, messages }).toEqual({
      code: 1,
      messages: "lockport: The output could not be written: the file may not grow any further (EFBIG).\n",
    });
    expect(statSync(path).size).toBe(8 * 1024);
  });

  test("because stdout is closed is told, but a command that has no output does not miss it", async () => {
    expect(await inShell('"$@" >&-', "key list")).toEqual({
      code: 1,
      data: "",
      messages: "lockport: The output could not be written: stdout is closed (EBADF).\n",
    });
    expect(await inShell('"$@" >&-', "principal create ada")).toMatchObject({ code: 0 });
    expect(await inShell('"$@" >/dev/null', "key list")).toEqual({ code: 0, data: "", messages: "" });
  });

  test("because its reader has gone is no failure", async () => {
    const rest = '"$@" | head -c 1; exit "${PIPESTATUS[0]}"';
    expect(await inShell(rest, "openapi")).toEqual({ code: 0, data: "{", messages: "" });
    expect(await inShell('"$@" | true; exit "${PIPESTATUS[0]}"', "key list")).toMatchObject({
      code: 0,
      messages: "",
    });
  });

  // There is none of PostgreSQL.
  test.skipIf(isOnPostgres)("because its reader has gone is a failure of a backup", async () => {
    const backup = await inShell('"$@" | true; exit "${PIPESTATUS[0]}"', "backup -");
    expect(backup.code).toBe(1);
    expect(backup.messages).toContain("incomplete");
  });

  test("on stderr does not keep a command from its work", async () => {
    for (const end of ["2>/dev/full", "2>&-"])
      expect(await inShell(`"$@" ${end}`, "key list --json")).toMatchObject({ code: 0, messages: "" });
  });

  test("stdout and stderr in one file stand in the order in which they were written", async () => {
    const path = join(folder.path, "both");
    await inShell(`"$@" >${path} 2>&1`, "key create --principal admin");
    expect(readFileSync(path, "utf8")).toMatch(/^This key of admin is shown once .*:\nlp_\w+\n/);
  });
});

describe("a slow reader", () => {
  test("gets all of stdout and of stderr, before the process ends", async () => {
    const { data } = await inShell('"$@" 2>&1 | { sleep 0.3; cat; }', "openapi");
    expect(Object.keys(JSON.parse(data))).toContain("paths");
  });
});

describe("a server whose stdout and stderr take nothing", () => {
  test("serves all the same, and ends with 0", async () => {
    for (const [name, end] of [
      ["full", ">/dev/full 2>/dev/full"],
      ["closed", ">&- 2>&-"],
    ] as const) {
      const own = join(folder.path, name);
      const port = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response() });
      const free = port.port;
      await port.stop(true);
      const child = Bun.spawn({
        cmd: ["bash", "-c", `exec "$@" ${end}`, "bash", LOCKPORT, "serve", "--port", String(free)],
        env: { PATH: process.env["PATH"] ?? "", HOME: folder.path, ...(await environmentOf(own)) },
      });
      await untilUp(`http://127.0.0.1:${free}/healthz`);
      child.kill("SIGTERM");
      expect({ name, code: await child.exited }).toEqual({ name, code: 0 });
    }
  }, 60_000);

  test("and whose stdout reader goes away serves on", async () => {
    const server = await startProcess([LOCKPORT], {
      env: await environmentOf(join(folder.path, "gone")),
    });
    await server.closeStdout();
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(await server.stop()).toBe(0);
  }, 30_000);
});

test("a log that nobody takes away holds a megabyte in memory, not all that is said", async () => {
  const script = `
    import { createSystem } from ${JSON.stringify(SYSTEM)};
    import { openStandardStream } from ${JSON.stringify(STREAM)};
    const { log } = createSystem({ logLevel: "info" });
    for (let line = 0; line < 4000; line += 1) log.info("x".repeat(1000));
    process.stdout.write(String(openStandardStream(2).pendingBytes), () => process.exit(0));
  `;
  const child = Bun.spawn({ cmd: [process.execPath, "-e", script], stdout: "pipe", stderr: "pipe" });
  // Its stderr is not read until it has ended.
  const pendingBytes = Number(await new Response(child.stdout).text());
  expect(pendingBytes).toBeGreaterThan(500_000);
  expect(pendingBytes).toBeLessThan(1_100_000);
  child.kill();
  await child.exited;
});

async function untilUp(url: string): Promise<void> {
  for (;;) {
    const response = await fetch(url).catch(() => null);
    if (response?.status === 200) return;
    await Bun.sleep(50);
  }
}
