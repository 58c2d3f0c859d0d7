import { afterAll, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";

const WAIT_MS_MAX = 60_000;
const root = join(import.meta.dir, "../..");
const SOURCES = [
  "src",
  "ui",
  "contrib",
  "bench",
  "drizzle",
  "package.json",
  "tsconfig.json",
  "tsconfig.types.json",
];
const folder = makeFolder();
afterAll(() => folder.remove());

test(
  "in a fresh clone the tour shows the page, prints a link that signs in once and the notices of its server, and leaves nothing behind when it is interrupted",
  async () => {
    const child = Bun.spawn({
      cmd: [process.execPath, "--no-env-file", join(makeClone(), "contrib/demo/tour.ts"), "--days=3"],
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
        if (output.includes("Notice: ")) break;
      }
      if (!/Until Ctrl-C[^]*Notice: The API key "laptop" of "alan" expires/.test(output))
        throw new Error(`${output}${await child.stderr.text()}`);
      const find = (pattern: RegExp) => pattern.exec(output)?.[1] ?? "";
      const [url = "", token] = find(/sign in +(\S+)/).split("/#login=");
      const page = await (await fetch(url)).text();
      expect(page).not.toContain("without its web page");
      const module = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1] ?? "";
      expect((await fetch(`${url}${module}`)).headers.get("content-type")).toContain("text/javascript");

      const send = (path: string, body: unknown) =>
        fetch(`${url}${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", origin: url },
          body: JSON.stringify(body),
        });
      const signedIn = await send("/auth/login-link", { token });
      expect(signedIn.status).toBe(200);
      expect(signedIn.headers.get("set-cookie")).toContain("proxy_session=");
      expect((await send("/auth/login-link", { token })).status).toBe(401);
      const passwordPath = find(/password in (\S+)/);
      const password = readFileSync(passwordPath, "utf8").trim();
      expect((await send("/auth/password", { password })).status).toBe(200);
      expect(output).not.toContain(password);
      const authorization = `Bearer ${find(/of ada \(admin\) (\S+)/)}`;
      const answer = await fetch(`${url}/stats/requests?limit=1`, { headers: { authorization } });
      expect(JSON.parse(await answer.text()).total).toBeGreaterThan(500);

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

test("a tour that cannot be says why in a sentence, without a trace, and ends", async () => {
  const tour = join(root, "contrib/demo/tour.ts");
  const { code, data, messages } = await runProcess(
    [process.execPath, "--no-env-file", tour, "--minutes", "none"],
    { env: { HOME: folder.path, TMPDIR: folder.path } },
  );
  expect({ code, data, messages }).toEqual({
    code: 1,
    data: "",
    messages: "--minutes is a number above 0.\n",
  });
});

/** The sources with the packages installed, and nothing that a former run has built. */
function makeClone(): string {
  const clone = join(folder.path, "clone");
  for (const name of SOURCES) cpSync(join(root, name), join(clone, name), { recursive: true });
  const installed = join(root, "node_modules");
  mkdirSync(join(clone, "node_modules"));
  for (const name of readdirSync(installed).filter((each) => each !== ".cache"))
    symlinkSync(join(installed, name), join(clone, "node_modules", name));
  return clone;
}
