import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { engineEnvironment } from "../support/engine.ts";
import { executable } from "../support/executable.ts";
import { makeFolder } from "../support/folder.ts";
import { startProcess } from "../support/process.ts";
import { runLocal } from "./terminal.ts";

const LOCKPORT = [await executable()];
const TEST_MS_MAX = 60_000;

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
beforeEach(() => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
});
afterEach(() => folder.remove());

async function readNext(): Promise<string | null> {
  const env = { PROXY_DATA_DIR: dataDir, ...(await engineEnvironment(dataDir)) };
  const server = await startProcess(LOCKPORT, { env });
  expect(await server.stop()).toBe(0);
  return /^Next: .*$/m.exec(server.output())?.[0] ?? null;
}

async function run(...line: string[]): Promise<string> {
  const { code, data, messages } = await runLocal(dataDir, line);
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
