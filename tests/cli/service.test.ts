import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startApp } from "../support/app.ts";
import { useFolder } from "../support/folder.ts";
import { runLocal } from "./terminal.ts";

const folder = useFolder();
const run = (...line: string[]) => runLocal(join(folder.path, "data"), line);

/** Exposure that `systemd-analyze security` may find at most, in tenths; a unit without any hardening has 96. */
const EXPOSURE_MAX = 15;

describe("service print", () => {
  test("prints a unit that starts the server, keeps its data in the state directory, and leaves the runtime's variables out", async () => {
    const { code, data, messages } = await run("service", "print");
    expect({ code, messages }).toEqual({ code: 0, messages: "" });
    expect(data).toContain("ExecStart=/usr/local/bin/lockport serve\n");
    expect(data).toContain("StateDirectory=lockport\n");
    expect(data).toContain("Environment=PROXY_DATA_DIR=/var/lib/lockport\n");
    expect(data).toContain("UnsetEnvironment=BUN_BE_BUN BUN_OPTIONS\n");
    expect(data).toContain("RestartPreventExitStatus=77 78\n");
    expect(data).toContain("DynamicUser=yes\n");
    // The executable compiles while it runs: with this it would not start.
    expect(data).not.toContain("\nMemoryDenyWriteExecute=");
  });

  test("a user, a path and a settings file of one's own take the place of the usual ones", async () => {
    const { data } = await run(
      ..."service print --user proxy --executable /opt/lockport --environment-file /etc/proxy.env".split(" "),
    );
    expect(data).toContain("\nUser=proxy\n");
    expect(data).not.toContain("DynamicUser");
    expect(data).toContain("ExecStart=/opt/lockport serve\n");
    expect(data).toContain("EnvironmentFile=-/etc/proxy.env\n");
  });

  test("what would end a line or mean something to systemd is refused with exit 2, and prints no unit", async () => {
    for (const line of [
      ["--executable", "/opt/lock port"],
      ["--executable", "lockport"],
      ["--executable", "/opt/%h"],
      ["--environment-file", "/etc/a\nExecStartPre=/bin/true"],
      ["--user", "a b"],
    ]) {
      const { code, data } = await run("service", "print", ...line);
      expect({ line, code, data }).toEqual({ line, code: 2, data: "" });
    }
  });

  const analyze = Bun.which("systemd-analyze");
  test.skipIf(analyze === null)("systemd finds no mistake in it and little exposure", async () => {
    // Verification asks whether the executable is there.
    const { data } = await run("service", "print", "--executable", "/bin/true");
    const path = join(folder.path, "lockport.service");
    writeFileSync(path, data);
    const verify = Bun.spawnSync({ cmd: [analyze ?? "", "verify", path] });
    expect(verify.stderr.toString()).not.toContain("lockport.service");
    expect(verify.exitCode).toBe(0);
    const security = Bun.spawnSync({
      cmd: [analyze ?? "", "security", "--offline=true", `--threshold=${EXPOSURE_MAX}`, path],
    });
    expect({ said: security.stdout.toString().split("\n").at(-2), code: security.exitCode }).toMatchObject({
      code: 0,
    });
  });
});

describe("health", () => {
  test("a server that is up is `ok` with exit 0, in words and in JSON", async () => {
    const app = await startApp();
    try {
      expect(await run("health", "--url", app.url)).toMatchObject({ code: 0, data: "ok\n" });
      const asJson = await run("health", "--url", app.url, "--json");
      expect(JSON.parse(asJson.data)).toEqual({ status: "ok" });
    } finally {
      await app.stop();
    }
  });

  test("nothing there, and something else there, is exit 69 with a sentence that names the address", async () => {
    const other = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: () => new Response("<h1>Welcome</h1>"),
    });
    try {
      for (const url of ["http://127.0.0.1:1", `http://127.0.0.1:${other.port}`]) {
        const { code, data, messages } = await run("health", "--url", url);
        expect({ code, data }).toEqual({ code: 69, data: "" });
        expect(messages).toContain(url);
      }
    } finally {
      await other.stop(true);
    }
  });
});
