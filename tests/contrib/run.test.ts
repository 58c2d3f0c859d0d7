import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import manifest from "../../package.json" with { type: "json" };
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";

let folder: ReturnType<typeof makeFolder>;
beforeEach(() => {
  folder = makeFolder();
  mkdirSync(join(folder.path, "contrib"));
  copyFileSync(join(import.meta.dir, "../../contrib/run.ts"), join(folder.path, "contrib/run.ts"));
});
afterEach(() => folder.remove());

const run = (...args: string[]) =>
  runProcess([process.execPath, "--no-env-file", join(folder.path, "contrib/run.ts"), ...args], {
    env: { npm_config_registry: "http://127.0.0.1:9/" },
  });
const write = (path: string, text: string) => writeFileSync(join(folder.path, path), text);
const LOCK = '{ "lockfileVersion": 1, "workspaces": { "": { "name": "clone" } }, "packages": {} }';

describe("what npm's scripts run first", () => {
  test("prints nothing of its own where all is installed, and becomes the program with its arguments and exit code", async () => {
    mkdirSync(join(folder.path, "inner"));
    write("inner/package.json", '{ "name": "inner", "version": "1.0.0" }');
    write("package.json", '{ "name": "clone", "dependencies": { "inner": "file:./inner" } }');
    expect((await runProcess([process.execPath, "install"], { cwd: folder.path })).code).toBe(0);
    write("program.ts", "console.log(process.argv.slice(2).join('|')); process.exit(7);");
    const ended = await run(join(folder.path, "program.ts"), "--all", "two words");
    expect(ended).toEqual({ code: 7, data: "--all|two words\n", messages: "" });
  });

  test("says what stands in the way when packages cannot be installed, in a few lines, and does not start the program", async () => {
    write("package.json", '{ "name": "clone", "dependencies": { "yaml": "2.9.1" } }');
    write("bun.lock", LOCK);
    write("program.ts", "console.log('started');");
    const { code, data, messages } = await run(join(folder.path, "program.ts"));
    expect(code).toBe(1);
    expect(data).toBe("");
    expect(messages).toStartWith("The packages of the lock file could not be installed:\n  error: ");
    expect(messages.split("\n").length).toBeLessThan(15);
  });
});

test("every script of the package that starts from a fresh clone installs what it needs by itself", () => {
  const scripts: Readonly<Record<string, string>> = manifest.scripts;
  // These are run where everything is installed already.
  const { lint: _lint, check: _check, ...others } = scripts;
  for (const [name, script] of Object.entries(others))
    expect({ name, script }).toEqual({
      name,
      script: expect.stringMatching(
        /^(?:npx -y bun@[\d.]+ --no-env-file contrib\/run\.ts|npm run -s build\b)/,
      ),
    });
});
