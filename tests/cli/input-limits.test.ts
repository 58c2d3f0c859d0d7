import { beforeEach, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { engineEnvironment } from "../support/engine.ts";
import { executable } from "../support/executable.ts";
import { useFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";
import { runLocal } from "./terminal.ts";

const LOCKPORT = await executable();
const ADD = "provider add up --base-url http://127.0.0.1:9/v1";
/** Every way in which a file is named on a command line. */
const WITH_FILE = [
  "apply",
  "import litellm-config",
  "pricing load",
  `${ADD} --api-key-file`,
  `${ADD} --no-api-key --ca-file`,
];

const folder = useFolder();
beforeEach(async () => {
  expect((await runLocal(folder.data, ["admin", "bootstrap"])).code).toBe(0);
});

const run = (line: string) => runLocal(folder.data, line.split(" "));
const providers = async () => JSON.parse((await run("provider list --json")).data);
const inShell = async (script: string) =>
  runProcess(["bash", "-c", script, "bash", LOCKPORT], {
    env: { PROXY_DATA_DIR: folder.data, ...(await engineEnvironment(folder.data)) },
  });

describe("a file that a command is given", () => {
  test("and that does not exist, or is a folder, is exit code 1 with its name and no code of the system", async () => {
    const missing = join(folder.path, "missing");
    for (const line of WITH_FILE) {
      expect(await run(`${line} ${missing}`)).toEqual({
        code: 1,
        data: "",
        messages: `lockport: The file ${missing} does not exist: name one that does.\n`,
      });
      expect(await run(`${line} ${folder.path}`)).toEqual({
        code: 1,
        data: "",
        messages: `lockport: The file ${folder.path} is a folder: name one that can be read.\n`,
      });
    }
    expect(await providers()).toEqual([]);
  });

  test("is read up to its limit and no further, and nothing is changed then", async () => {
    for (const line of WITH_FILE) {
      const { code, data, messages } = await run(`${line} /dev/zero`);
      expect({ line, code, data }).toEqual({ line, code: 1, data: "" });
      expect(messages).toMatch(
        /^lockport: The file \/dev\/zero holds more than [\d.]+ [kM]B: is it the right one\?\n$/,
      );
    }
    expect(await providers()).toEqual([]);
  });

  test("may be a pipe, and so may be stdin, which has the same limit", async () => {
    const feed = '{"version":"v1","entries":[{"model":"m","unit":"input_tokens","price_per_million":1}]}';
    for (const script of [
      `"$@" pricing load <(echo '${feed}')`,
      `echo '${feed}' | "$@" pricing load /dev/stdin`,
      `echo '${feed}' | "$@" pricing load -`,
    ]) {
      expect(await inShell(script)).toMatchObject({ code: 0, messages: "loaded 1 price, version v1\n" });
    }
    for (const line of ["pricing load -", "apply -", `${ADD} --api-key-file -`]) {
      const { code, messages } = await inShell(`yes | "$@" ${line}`);
      expect({ line, code }).toEqual({ line, code: 1 });
      expect(messages).toMatch(/^lockport: stdin holds more than /);
    }
    expect(await providers()).toEqual([]);
  }, 60_000);

  test("with a byte order mark is read without it", async () => {
    const path = join(folder.path, "feed.json");
    writeFileSync(path, '\ufeff{"version":"v1","entries":[]}');
    expect((await run(`pricing load ${path}`)).messages).not.toContain("not JSON");
  });
});

test("an empty --ca-file is refused and takes no provider's roots away", async () => {
  const empty = join(folder.path, "empty.pem");
  for (const text of ["", "\n \n"]) {
    writeFileSync(empty, text);
    const { code, data, messages } = await run(`${ADD} --no-api-key --ca-file ${empty}`);
    expect({ code, data }).toEqual({ code: 1, data: "" });
    expect(messages).toBe(`lockport: The file ${empty} is empty: it has to hold certificates.\n`);
  }
  expect((await run(`${ADD} --no-api-key`)).code).toBe(0);
  expect((await run(`provider set up --ca-file ${empty}`)).code).toBe(1);

  const catalog = join(folder.path, "catalog.yaml");
  const exported = (await run("export")).data;
  writeFileSync(catalog, exported.replace(/^( +)base_url:.*$/m, "$&\n$1ca_pem_file: empty.pem"));
  expect(await run(`apply ${catalog} --yes`)).toMatchObject({
    code: 1,
    messages: expect.stringContaining("is empty: it has to hold certificates"),
  });
});
