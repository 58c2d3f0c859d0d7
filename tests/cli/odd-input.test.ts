import { beforeEach, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { listNodes, readCommandTree } from "#cli/screen/help.ts";
import { createProgram } from "#cli/program.ts";
import { SILENT_TERMINAL } from "../../contrib/docs/command-line.ts";
import { isOnPostgres } from "../support/engine.ts";
import { useFolder } from "../support/folder.ts";
import { runLocal, type CliInput } from "./terminal.ts";

const TLS = join(import.meta.dir, "../fixtures/tls");
const KEY = { env: { LOCKPORT_API_KEY: "lp_x" } };
/** Nothing listens there: whoever asked it would end with 69. */
const NOWHERE = ["--url", "http://127.0.0.1:1"];

const folder = useFolder();
beforeEach(async () => {
  for (const line of [
    "admin bootstrap",
    "provider add up --base-url http://127.0.0.1:9/v1 --no-api-key",
    "model add gpt --provider up --upstream-name gpt-x",
  ])
    expect(await run(line.split(" "))).toMatchObject({ code: 0 });
});

const run = (line: readonly string[], input?: CliInput) => runLocal(folder.data, line, input);

test("a blank argument is exit code 2 for every command that takes one, whatever would have been asked", async () => {
  const leaves = listNodes(readCommandTree(await createProgram(SILENT_TERMINAL))).filter(
    ({ commands, args }) => commands.length === 0 && args.length > 0,
  );
  expect(leaves.length).toBeGreaterThan(15);
  for (const { path, args } of leaves) {
    for (const blank of ["", " ", "\t\n"]) {
      const remote = path.join() === "backup" || path.join() === "restore" ? [] : NOWHERE;
      const given = args.map((_, index) => (index === args.length - 1 ? blank : "x"));
      const { code, data, messages } = await run([...path, ...given, ...remote], KEY);
      expect({ path, blank, code, data }).toEqual({ path, blank, code: 2, data: "" });
      expect(messages).toStartWith("lockport: ");
    }
  }
  expect(readdirSync(folder.path)).toEqual(["data"]);
});

test("a number is written with decimal digits, also with an exponent, and in no other way", async () => {
  for (const text of ["1e3", "1.5", ".5", "+5", "5."])
    expect(await run(["provider", "set", "up", `--timeout-read=${text}`])).toMatchObject({ code: 0 });
  for (const text of ["0x10", "0b11", "0o17", " 5", "1_000", "١", "NaN", "Infinity", "1e400", "-"]) {
    const { code, messages } = await run(
      ["provider", "set", "up", `--timeout-read=${text}`, ...NOWHERE],
      KEY,
    );
    expect({ text, code }).toEqual({ text, code: 2 });
    expect(messages).toContain("It must be a number.");
  }
  const price = await run(["model", "add", "m", "--target", "gpt", "--price", "input_tokens=0x10"]);
  expect(price.code).toBe(2);
});

describe("a window", () => {
  test("that would begin before the year 0 is exit code 2, and one over all time is answered", async () => {
    for (const line of [
      ["usage", "--since", "999999d"],
      ["requests", "tail", "--until", "999999d"],
    ]) {
      const { code, messages } = await run([...line, ...NOWHERE], KEY);
      expect(code).toBe(2);
      expect(messages).toContain("999999d ago is before the year 0");
    }
    for (const bounds of [
      ["--since", "0000-01-01"],
      ["--until", "0000-01-05"],
      ["--since", "2026-01-01", "--until", "9999-01-01"],
      ["--since", "0000-01-01", "--until", "9999-12-31"],
    ])
      expect((await run(["usage", "--json", ...bounds])).code).toBe(0);
  });
});

describe("a path", () => {
  test("that no system takes is told as such: a folder's with 78, a file's with 1", async () => {
    for (const name of ["x".repeat(300), "x/".repeat(3000)]) {
      for (const line of [["key", "list"], ["admin", "bootstrap"], ["serve"]]) {
        const { code, messages } = await run([...line, "--data-dir", name]);
        expect({ line, code }).toEqual({ line, code: 78 });
        expect(messages).toContain("PROXY_DATA_DIR must be a path of at most 4095 bytes");
      }
      const env = { PROXY_DATABASE_URL: `sqlite:${name}` };
      expect((await run(["key", "list"], { env })).messages).toContain("PROXY_DATABASE_URL must be a path");
      // Backup and restore are of SQLite alone.
      for (const command of isOnPostgres ? ["apply"] : ["backup", "restore", "apply"]) {
        const { code, messages } = await run([command, join(folder.path, name)]);
        expect({ command, code }).toEqual({ command, code: 1 });
        expect(messages).toContain("too long");
      }
    }
  });

  test("of a file where a folder has to be is told so by every command, without advice on its mode", async () => {
    const path = join(folder.path, "a file");
    writeFileSync(path, "kept");
    const ofFiles = [
      ["key", "list"],
      ["backup", join(folder.path, "b")],
      ["admin", "bootstrap"],
    ];
    for (const place of [path, join(path, "below")]) {
      // On PostgreSQL a server has a data folder, and no other command looks at it.
      for (const line of [["serve", "--port", "0"], ...(isOnPostgres ? [] : ofFiles)]) {
        const { code, messages } = await run([...line, "--data-dir", place]);
        expect({ line, code }).toEqual({ line, code: 78 });
        expect(messages).toContain(`${path} is a file, and no folder`);
        expect(messages).not.toContain("chmod");
      }
    }
    expect(readFileSync(path, "utf8")).toBe("kept");
  });

  test("with a line break in it forges no second line", async () => {
    writeFileSync(join(folder.path, "a\nlockport: all is well"), "x: [");
    const ofFiles = ["key", "list", "--data-dir", join(folder.path, "b\nlockport: all is well")];
    for (const line of [
      ["apply", join(folder.path, "a\nlockport: all is well")],
      // On PostgreSQL it looks into no folder.
      ...(isOnPostgres ? [] : [ofFiles]),
    ]) {
      const { code, messages } = await run(line);
      expect(code).not.toBe(0);
      expect(messages).not.toMatch(/^lockport: all is well/m);
    }
  });

  // Backup and restore are of SQLite alone.
  test.skipIf(isOnPostgres)("with blanks and other scripts works", async () => {
    const place = join(folder.path, "dåta 資料 d");
    expect((await run(["admin", "bootstrap", "--data-dir", place])).code).toBe(0);
    const file = join(folder.path, "bäck up");
    expect((await run(["backup", file, "--with-secret-key", "--data-dir", place])).code).toBe(0);
    const back = join(folder.path, "zurück ins Gelände");
    expect((await run(["restore", file, "--data-dir", back])).code).toBe(0);
    expect((await run(["key", "list", "--json", "--data-dir", back])).data).toContain('"admin"');
  });
});

test("a refusal does not repeat ten thousand characters", async () => {
  const long = "x".repeat(10_000);
  for (const line of [
    [long],
    ["key", long],
    ["key", "list", `--${long}`],
    ["complete", long],
    ["usage", "--since", long],
    ["apply", long],
    ["key", "list", "--url", `http://${long}`],
  ]) {
    const { code, data, messages } = await run(line, KEY);
    expect(code).not.toBe(0);
    expect(data).toBe("");
    expect(messages.length).toBeLessThan(1_500);
    expect(messages).not.toContain("unexpected failure");
  }
});

test("--url with https:// is told apart from a server that speaks http, and from a certificate nobody trusts", async () => {
  const options = { port: 0, hostname: "127.0.0.1", fetch: () => new Response() };
  const plain = Bun.serve(options);
  const tls = {
    key: Bun.file(join(TLS, "upstream.key.pem")),
    cert: Bun.file(join(TLS, "upstream.cert.pem")),
  };
  const foreign = Bun.serve({ ...options, tls });
  try {
    for (const [server, advice] of [
      [plain, "does it speak http:// there, and not https://?"],
      [foreign, "this machine does not trust its certificate"],
    ] as const) {
      const { code, messages } = await run(["key", "list", "--url", `https://127.0.0.1:${server.port}`], KEY);
      expect(code).toBe(69);
      expect(messages).toContain(advice);
      expect(messages).not.toContain("is the server running");
    }
  } finally {
    await plain.stop(true);
    await foreign.stop(true);
  }
});

test("a month, a currency and an instant that are none are exit code 2, as every option that is not right", async () => {
  for (const line of ["statement --month 2026-13", "export focus --month x", "export focus --currency usd"]) {
    const { code, data, messages } = await run(line.split(" "));
    expect({ line, code, data }).toEqual({ line, code: 2, data: "" });
    expect(messages).toStartWith("lockport: ");
  }
  // The server is not asked for what it would refuse.
  const plan = "reprice plan --prices history --since x".split(" ");
  expect(await run([...plan, ...NOWHERE], KEY)).toMatchObject({ code: 2, data: "" });
});
