import { beforeEach, describe, expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { engineEnvironment, isOnPostgres } from "../support/engine.ts";
import { executable } from "../support/executable.ts";
import { makeEmptyInstallation } from "../support/empty-installation.ts";
import { useFolder } from "../support/folder.ts";
import { runProcess, startProcess } from "../support/process.ts";
import { until } from "../support/waiting.ts";
import { startOnScreen } from "./screen.ts";
import { runLocal } from "./terminal.ts";

const LOCKPORT = [await executable()];
const TEST_MS_MAX = 60_000;
const LINK = /http:\/\/127\.0\.0\.1:\d+\/#login=(lpl_[0-9A-Za-z]{43})/;

const folder = useFolder();
let env: Record<string, string>;
beforeEach(async () => {
  env = { PROXY_DATA_DIR: folder.data, PROXY_PORT: "0", ...(await engineEnvironment(folder.data)) };
});

async function signIn(link: string): Promise<Response> {
  const [, token] = LINK.exec(link)!;
  return fetch(`${new URL(link).origin}/auth/login-link`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ token }),
  });
}

/** A desktop's opener that writes down what it is to open. */
function makeOpener(code: number): string {
  const bin = join(folder.path, "bin");
  mkdirSync(bin);
  const opener = join(bin, process.platform === "darwin" ? "open" : "xdg-open");
  const script = `env > "${folder.path}/environment"\nprintf %s "$1" > "${folder.path}/opened"`;
  writeFileSync(opener, `#!/bin/sh\n${script}\nexit ${code}\n`);
  chmodSync(opener, 0o755);
  return bin;
}

describe("lockport serve on a terminal", () => {
  test(
    "prints at its first start a link that signs in once, and at the second none",
    async () => {
      const first = startOnScreen(["serve"], env);
      const greeting = await first.shows(/Next: .*\r/);
      const [link] = LINK.exec(greeting)!;
      const response = await signIn(link);
      expect([response.status, await response.json()]).toEqual([200, { name: "admin", role: "admin" }]);
      expect((await signIn(link)).status).toBe(401);
      first.type("\u0003");
      expect(await first.exited).toBe(0);

      const second = startOnScreen(["serve"], env);
      expect(await second.shows(/Next: .*\r/)).not.toContain("#login=");
      second.type("\u0003");
      expect(await second.exited).toBe(0);
    },
    TEST_MS_MAX,
  );

  // On PostgreSQL it comes from the environment.
  test.skipIf(isOnPostgres)(
    "prints where the password is, and not the password",
    async () => {
      const server = startOnScreen(["serve"], env);
      const greeting = await server.shows(/Next: .*\r/);
      expect(greeting).toContain(`Admin password: in the file ${join(folder.data, "admin-password")}`);
      expect(greeting).not.toContain(readFileSync(join(folder.data, "admin-password"), "utf8").trim());
      server.type("\u0003");
      expect(await server.exited).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    "--open gives the desktop such a link, and prints none",
    async () => {
      const server = startOnScreen(["serve", "--open", "--json"], {
        ...env,
        PATH: `${makeOpener(0)}:${process.env["PATH"]}`,
      });
      await server.shows(/"url":/);
      const opened = join(folder.path, "opened");
      for (
        let waited = 0;
        !(existsSync(opened) && LINK.test(readFileSync(opened, "utf8"))) && waited < 5000;
        waited += 20
      )
        await Bun.sleep(20);
      const link = readFileSync(opened, "utf8");
      expect((await signIn(link)).status).toBe(200);
      expect(server.text()).not.toContain("#login=");
      server.type("\u0003");
      expect(await server.exited).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    "--open gives the program that it opens no setting of the server, and the rest of its environment",
    async () => {
      const secrets = {
        PROXY_ADMIN_PASSWORD: "planted-in-the-environment",
        PROXY_SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
        PROXY_OIDC_ISSUER: "https://sign-in.example.com",
        PROXY_OIDC_CLIENT_ID: "planted-client-id",
        PROXY_OIDC_CLIENT_SECRET: "planted-client-secret",
        PROXY_PUBLIC_URL: "http://127.0.0.1:4000",
      };
      const server = startOnScreen(["serve", "--open"], {
        ...env,
        ...secrets,
        DISPLAY: ":7",
        PATH: `${makeOpener(0)}:${process.env["PATH"]}`,
      });
      await server.shows(/Lockport listens/);
      await until(
        () => existsSync(join(folder.path, "opened")),
        () => server.text(),
      );
      const told = readFileSync(join(folder.path, "environment"), "utf8");
      expect(told).toContain("DISPLAY=:7\n");
      expect(told).not.toContain("PROXY_");
      for (const secret of Object.values(secrets)) expect(told).not.toContain(secret);
      server.type("\u0003");
      expect(await server.exited).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    "--open where nothing opens says so and serves",
    async () => {
      const server = startOnScreen(["serve", "--open"], { ...env, PATH: makeOpener(3) });
      await server.shows(/No browser could be opened\. .*admin login-link/);
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(server.text())!;
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      server.type("\u0003");
      expect(await server.exited).toBe(0);
    },
    TEST_MS_MAX,
  );

  test(
    "without a terminal never prints a link, which would lie in a log, and --json says the same as a line",
    async () => {
      const server = await startProcess(LOCKPORT, { env });
      expect(await server.stop()).toBe(0);
      expect(server.output()).not.toContain("#login=");
      const child = Bun.spawn({
        cmd: [...LOCKPORT, "serve", "--json"],
        env: { PATH: process.env["PATH"] ?? "", ...env },
        stdout: "pipe",
        stderr: "ignore",
      });
      const { value } = await child.stdout.getReader().read();
      child.kill("SIGTERM");
      expect(await child.exited).toBe(0);
      const { url, admin_password_file: path } = JSON.parse(new TextDecoder().decode(value));
      expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
      expect(path).toBe(isOnPostgres ? null : join(folder.data, "admin-password"));
    },
    TEST_MS_MAX,
  );
});

describe("the password of admin", () => {
  beforeEach(() => makeEmptyInstallation(folder.data));

  // These are about its file. On PostgreSQL there is none: tests/cli/postgres has what is said there.
  const attempt = (url: string, password: string) =>
    fetch(`${url}/auth/password`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ password }),
    });
  const run = (line: string, more: Record<string, string> = {}, screens = false) =>
    runLocal(folder.data, line.split(" "), { env: more, screens });

  test.skipIf(isOnPostgres)(
    "rotated beside a running server holds at once: the old one is wrong, and browsers of admin are signed out",
    async () => {
      const server = await startProcess(LOCKPORT, { env });
      const before = (await run("admin password show --yes")).data.trim();
      const toCookie = (signedIn: Response) => signedIn.headers.get("set-cookie")!.split(";", 1)[0]!;
      const mine = async (cookie: string) =>
        (await fetch(`${server.url}/my/keys`, { headers: { cookie } })).status;
      const byPassword = toCookie(await attempt(server.url, before));
      const link = (await run("admin login-link")).data.trim();
      const cookie = toCookie(
        await fetch(`${server.url}/auth/login-link`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ token: link.slice(link.indexOf("lpl_")) }),
        }),
      );
      expect([await mine(byPassword), await mine(cookie)]).toEqual([200, 200]);

      const kept = await run("admin password rotate --keep-sessions --json");
      expect(JSON.parse(kept.data)).toEqual({ file: join(folder.data, "admin-password"), revoked: 0 });
      expect(await mine(cookie)).toBe(200);
      expect(await mine(byPassword)).toBe(401);
      const rotated = await run("admin password rotate");
      expect(rotated).toMatchObject({ code: 0, data: "" });
      expect(rotated.messages).toContain("1 session was ended");
      expect(await mine(cookie)).toBe(401);

      const after = (await run("admin password show --yes")).data.trim();
      expect(after).not.toBe(before);
      expect(rotated.messages).not.toContain(after);
      expect((await attempt(server.url, before)).status).toBe(401);
      expect((await attempt(server.url, after)).status).toBe(200);
      expect(Bun.file(join(folder.data, "admin-password")).size).toBeGreaterThan(12);
      expect((await runProcess(["stat", "-c", "%a", join(folder.data, "admin-password")])).data).toBe(
        "600\n",
      );
      expect(await server.stop()).toBe(0);
    },
    TEST_MS_MAX,
  );

  test.skipIf(isOnPostgres)(
    "rotated while pages ask again and again tells how many sessions that ended, and with --keep-sessions that those of the password do",
    async () => {
      const server = await startProcess(LOCKPORT, { env });
      const ask = async (cookie: string): Promise<void> => {
        while ((await fetch(`${server.url}/my/keys`, { headers: { cookie } })).status === 200);
      };
      // A process of its own: the pages go on meanwhile.
      const rotate = (...more: string[]) =>
        runProcess([...LOCKPORT, "admin", "password", "rotate", ...more], { env });
      const openPages = async () => {
        const password = (await run("admin password show --yes")).data.trim();
        const signedIn = [await attempt(server.url, password), await attempt(server.url, password)];
        return signedIn.map((response) => ask(response.headers.get("set-cookie")!.split(";", 1)[0]!));
      };
      const pages = await openPages();
      const rotated = await rotate();
      expect(rotated.messages).toContain("2 sessions were ended");
      await Promise.all(pages);
      const others = await openPages();
      const kept = await rotate("--keep-sessions");
      expect(kept.messages).toContain("sessions of the former password end with it");
      await Promise.all(others);
      expect(await server.stop()).toBe(0);
    },
    TEST_MS_MAX,
  );

  test.skipIf(isOnPostgres)(
    "is printed on a terminal, elsewhere only with --yes, and by nothing before there is one",
    async () => {
      expect(await run("admin password show --yes")).toMatchObject({ code: 1, data: "" });
      await run("admin password rotate");
      const password = readFileSync(join(folder.data, "admin-password"), "utf8");
      for (const line of ["admin password show", "admin password show --json"]) {
        const refused = await run(line);
        expect(refused).toMatchObject({ code: 2, data: "" });
        expect(refused.messages).toContain("--yes");
        expect(refused.messages).not.toContain(password.trim());
      }
      expect((await run("admin password show", {}, true)).data).toBe(password);
      expect(JSON.parse((await run("admin password show --json --yes")).data).password).toBe(password.trim());
    },
  );

  test("that comes from the environment, or is off, is neither shown nor rotated, and no file is made", async () => {
    for (const more of [
      { PROXY_ADMIN_PASSWORD: "from the environment" },
      { PROXY_ADMIN_PASSWORD_DISABLED: "true" },
    ]) {
      const [name] = Object.keys(more);
      for (const line of ["admin password show --yes", "admin password rotate"]) {
        const { code, data, messages } = await run(line, more);
        expect({ line, data, fails: code === 1 || code === 78 }).toEqual({ line, data: "", fails: true });
        expect(messages).toContain(name!);
        expect(messages).not.toContain("from the environment");
      }
    }
    expect(existsSync(join(folder.data, "admin-password"))).toBe(false);
  });
});

test(
  "a table is as wide as the screen at most, which names the columns that have no room",
  async () => {
    await makeEmptyInstallation(folder.data);
    const name = `nightly-${"build-".repeat(12)}end`;
    for (const line of [`principal create ${name}`, `key create --principal ${name} --label ${name}`])
      expect((await runLocal(folder.data, line.split(" "))).code).toBe(0);
    const screen = startOnScreen(["key", "list"], env);
    const shown = await screen.shows(/--json has all\./);
    expect(await screen.exited).toBe(0);
    const [heading = "", row = ""] = Bun.stripANSI(shown).split("\r\n");
    expect(heading).toStartWith("ID ");
    expect(row).toMatch(/^[0-9a-f-]{36} +nightly-build-\S*…/);
    for (const line of [heading, row]) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(120);
  },
  TEST_MS_MAX,
);

describe("admin login-link", () => {
  beforeEach(() => makeEmptyInstallation(folder.data));

  const run = (line: string, more: Record<string, string> = {}) =>
    runLocal(folder.data, line.split(" "), { env: more });

  test("is alone on stdout, for whoever is named, with the address that the settings or --server say", async () => {
    const plain = await run("admin login-link");
    expect(plain.data).toMatch(/^http:\/\/127\.0\.0\.1:4000\/#login=lpl_[0-9A-Za-z]{43}\n$/);
    expect(plain.messages).toContain("as admin, once, within 10 minutes");
    expect(plain.messages).toContain("for one at the address of the settings");
    await run("principal create ada");
    const line = "admin login-link --principal ada --server https://models.example.org --json";
    const { url, principal, expires_at: expiresAt } = JSON.parse((await run(line)).data);
    expect(url).toStartWith("https://models.example.org/#login=lpl_");
    expect(principal).toBe("ada");
    expect(expiresAt).toMatch(/^\d{4}-.*Z$/);
    expect((await run("admin login-link", { PROXY_PUBLIC_URL: "https://lp.example" })).data).toStartWith(
      "https://lp.example/#login=",
    );
    expect((await run("admin login-link", { PROXY_HOST: "0.0.0.0" })).data).toStartWith(
      "http://127.0.0.1:4000/",
    );
    expect((await run("admin login-link", { PROXY_HOST: "::" })).data).toStartWith("http://[::1]:4000/");
  });

  test("fails for nobody and asks for an address that only the server knows", async () => {
    expect((await run("admin login-link --name nobody")).messages).toContain("(principal_not_found");
    await run("principal create nobody");
    expect((await run("admin login-link --principal nobdy")).messages).toContain("(Did you mean nobody?)");
    expect(await run("admin login-link", { PROXY_PORT: "0" })).toMatchObject({ code: 2, data: "" });
    expect(await run("admin login-link --server http://h/path")).toMatchObject({ code: 2, data: "" });
  });

  test(
    "made beside a running server signs in there",
    async () => {
      const server = await startProcess(LOCKPORT, { env });
      // Whatever port these settings say: the server's own is known.
      const { data, messages } = await run("admin login-link");
      expect(data).toStartWith(`${server.url}/#login=`);
      expect(messages).not.toContain("No server is known");
      const response = await signIn(data.trim());
      expect([response.status, await response.json()]).toEqual([200, { name: "admin", role: "admin" }]);
      expect(server.output()).not.toContain(LINK.exec(data)![1]!);
      expect(await server.stop()).toBe(0);
      expect((await run("admin login-link")).data).toStartWith("http://127.0.0.1:4000/");
    },
    TEST_MS_MAX,
  );

  test(
    "beside a server with a public URL names that, and after a kill what the server left counts for nothing",
    async () => {
      const publicUrl = "https://models.example.org";
      const server = await startProcess(LOCKPORT, {
        env: { ...env, PROXY_PUBLIC_URL: publicUrl },
      });
      expect((await run("admin login-link")).data).toStartWith(`${publicUrl}/#login=`);
      expect((await run("admin login-link --server http://other:1")).data).toStartWith("http://other:1/");
      server.signal("SIGKILL");
      await server.exited;
      expect(existsSync(join(folder.data, "serving.json"))).toBe(true);
      const { data, messages } = await run("admin login-link");
      expect(data).toStartWith("http://127.0.0.1:4000/");
      expect(messages).toContain(`No server is known to run from ${folder.data}`);
    },
    TEST_MS_MAX,
  );
});

describe("on a terminal", () => {
  beforeEach(() => makeEmptyInstallation(folder.data));

  const add = ["provider", "add", "up", "--base-url", "http://127.0.0.1:9/v1"];

  test(
    "a provider's key is asked for and not shown as it is typed; Ctrl-C adds nothing",
    async () => {
      const given = startOnScreen(add, env);
      await given.shows(/API key of the provider/);
      given.type("sk-typed-secret\r");
      expect(await given.exited).toBe(0);
      expect(given.text()).not.toContain("sk-typed");
      expect(given.text()).toContain("added provider up");

      const left = startOnScreen([...add.slice(0, 2), "other", ...add.slice(3)], env);
      await left.shows(/API key of the provider/);
      left.type("\u0003");
      expect(await left.exited).toBe(130);
      const { data } = await runLocal(folder.data, ["provider", "list", "--json"]);
      expect(JSON.parse(data)).toMatchObject([{ name: "up", has_credential: true }]);
    },
    TEST_MS_MAX,
  );

  test(
    "removing a provider that serves models asks first, and only yes removes it",
    async () => {
      const run = (line: string) => runLocal(folder.data, line.split(" "));
      await run("provider add up --base-url http://127.0.0.1:9/v1");
      await run("model add gpt --provider up --upstream-name g");
      for (const [answer, code] of [
        ["n", 1],
        ["\r", 1],
        ["y", 0],
      ] as const) {
        const asked = startOnScreen(["provider", "remove", "up"], env);
        await asked.shows(/gpt\. Delete it\? \[y\/N\]/);
        asked.type(`${answer}\r`);
        expect({ answer, code: await asked.exited }).toEqual({ answer, code });
      }
      expect((await run("model list --json")).data).toBe("[]\n");
    },
    TEST_MS_MAX,
  );

  test("headings and errors stand out; with NO_COLOR, TERM=dumb or in a pipe nothing but text is written", async () => {
    const escape = "\u001b[";
    const cases = [
      { more: {}, screens: true, coloured: true },
      { more: { NO_COLOR: "1" }, screens: true, coloured: false },
      { more: { NO_COLOR: "" }, screens: true, coloured: true },
      { more: { TERM: "dumb" }, screens: true, coloured: false },
      { more: {}, screens: false, coloured: false },
    ];
    for (const { more, screens, coloured } of cases) {
      for (const line of [
        "provider list",
        "model resolve nothing",
        "--help",
        "key create --help",
        "requests tail",
      ]) {
        const { data, messages } = await runLocal(folder.data, line.split(" "), { env: more, screens });
        expect({ line, more, coloured: (data + messages).includes(escape) }).toEqual({
          line,
          more,
          coloured,
        });
      }
    }
  });

  test(
    "a follower ends with exit code 0 at Ctrl-C",
    async () => {
      const follower = startOnScreen(["requests", "tail", "-f"], env);
      await follower.shows(/TIME \(UTC\)/);
      follower.type("\u0003");
      expect(await follower.exited).toBe(0);
    },
    TEST_MS_MAX,
  );
});

test(
  "whoever reads stdout may go: a command and a follower end with exit code 0 and no word",
  async () => {
    const app = await (await import("../support/app.ts")).startApp({ dataDir: folder.data });
    await app.api("POST", "/admin/v1/providers", { name: "p", base_url: "http://127.0.0.1:1/v1" });
    await app.api("POST", "/admin/v1/models", { alias: "m", provider: "p", upstream_name: "u" });
    const request = () => app.api("POST", "/v1/chat/completions", { model: "m" });
    for (let index = 0; index < 3; index += 1) await request();
    const line = `"${LOCKPORT.join('" "')}" requests tail -f --json | head -n 1; exit "\${PIPESTATUS[0]}"`;
    const running = runProcess(["bash", "-c", line], { env });
    const ended = running.then(() => true);
    // It learns of it when it next writes.
    for (let asked = 0; asked < 40; asked += 1) {
      await request();
      if (await Promise.race([ended, Bun.sleep(500).then(() => false)])) break;
    }
    const { code, data, messages } = await running;
    expect({ code, lines: data.split("\n").length, messages }).toEqual({ code: 0, lines: 2, messages: "" });
    await app.stop();
  },
  TEST_MS_MAX,
);
