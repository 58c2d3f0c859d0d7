import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../support/folder.ts";

const WAIT_MS_MAX = 60_000;
const folder = makeFolder();
afterAll(() => folder.remove());

test(
  "the tour says where to sign in and with what, and leaves nothing behind when it is interrupted",
  async () => {
    const child = Bun.spawn({
      cmd: [
        process.execPath,
        "--no-env-file",
        join(import.meta.dir, "../../contrib/demo/tour.ts"),
        "--days=3",
      ],
      env: { PATH: process.env["PATH"] ?? "", HOME: folder.path, TMPDIR: folder.path, PROXY_HOST: "ignored" },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "pipe",
    });
    let output = "";
    try {
      const decoder = new TextDecoder();
      for await (const bytes of child.stdout) {
        output += decoder.decode(bytes, { stream: true });
        if (output.includes("Until Ctrl-C")) break;
      }
      if (!output.includes("Until Ctrl-C")) throw new Error(`${output}${await child.stderr.text()}`);
      const find = (pattern: RegExp) => pattern.exec(output)?.[1] ?? "";
      const url = find(/address +(\S+)/);
      const passwordPath = find(/password in (\S+)/);
      const password = readFileSync(passwordPath, "utf8").trim();
      const signedIn = await fetch(`${url}/auth/password`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: url },
        body: JSON.stringify({ password }),
      });
      expect(signedIn.status).toBe(200);
      const authorization = `Bearer ${find(/of ada \(admin\) (\S+)/)}`;
      const answer = await fetch(`${url}/stats/requests?limit=1`, { headers: { authorization } });
      expect(JSON.parse(await answer.text()).total).toBeGreaterThan(500);
      expect(output).not.toContain(password);

      child.kill("SIGINT");
      expect(await child.exited).toBe(0);
      expect(existsSync(passwordPath)).toBe(false);
      expect(await fetch(`${url}/healthz`).catch(() => null)).toBeNull();
    } finally {
      child.kill("SIGKILL");
      await child.exited;
    }
  },
  WAIT_MS_MAX,
);
