import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { backUpToFile, type Watch } from "#boot/operate/backup.ts";
import { parseConfig, requireOnFiles } from "#boot/settings/config.ts";
import { restoreBackup } from "#boot/operate/restore.ts";
import { createSystem } from "#boot/process/system.ts";
import { startApp } from "../support/app.ts";
import { makeFolder } from "../support/folder.ts";

const STEPS_MAX = 100;
const TEST_MS_MAX = 60_000;

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
let file: string;

beforeEach(async () => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
  file = join(folder.path, "backup");
  await (await startApp({ dataDir })).stop();
});
afterEach(() => folder.remove());

const depsOf = (directory: string) => {
  const config = requireOnFiles(parseConfig({ PROXY_DATA_DIR: directory }), "backup");
  return { config, system: createSystem({ logLevel: "error" }) };
};

/** Aborted when the step of this number is told of. */
function abortAt(number: number): Watch {
  const told = new AbortController();
  let steps = 0;
  const step = () => {
    steps += 1;
    if (steps === number) told.abort();
  };
  return { step, signal: told.signal };
}

/** Interrupts `work` at its first step, its second and so on; ends when one has nothing left to interrupt. */
async function interruptEverywhere(
  work: (watch: Watch) => Promise<unknown>,
  check: (isDone: boolean) => void,
): Promise<number> {
  for (let number = 1; number < STEPS_MAX; number += 1) {
    const watch = abortAt(number);
    const isDone = await work(watch).then(
      () => true,
      (cause: unknown) => {
        expect(watch.signal.aborted).toBe(true);
        expect(cause).toMatchObject({ name: "AbortError" });
        return false;
      },
    );
    check(isDone);
    if (!watch.signal.aborted) return number - 1;
  }
  throw new Error("it never ended");
}

describe("an interruption at any step", () => {
  test(
    "of a backup leaves no file under its name and none beside it, or the whole backup",
    async () => {
      const steps = await interruptEverywhere(
        (watch) => backUpToFile(file, { withSecretKey: true, watch }, depsOf(dataDir)),
        (isDone) => {
          expect(readdirSync(folder.path).sort()).toEqual(isDone ? ["backup", "data"] : ["data"]);
        },
      );
      expect(steps).toBeGreaterThan(4);
    },
    TEST_MS_MAX,
  );

  test(
    "of a backup in place of an older one leaves that as it was",
    async () => {
      const back = (watch: Watch) => backUpToFile(file, { withSecretKey: true, watch }, depsOf(dataDir));
      await back(abortAt(0));
      let bytes = readFileSync(file);
      await interruptEverywhere(back, (isDone) => {
        if (!isDone) expect(readFileSync(file).equals(bytes)).toBe(true);
        bytes = readFileSync(file);
      });
    },
    TEST_MS_MAX,
  );

  test(
    "of a restore leaves neither the folder nor those above it that it made, or the whole installation",
    async () => {
      await backUpToFile(file, { withSecretKey: true, watch: abortAt(0) }, depsOf(dataDir));
      const target = join(folder.path, "above", "target");
      const steps = await interruptEverywhere(
        (watch) =>
          restoreBackup({ source: file, force: true, allowUnverified: false, watch }, depsOf(target)),
        (isDone) => {
          if (!isDone) expect(existsSync(join(folder.path, "above"))).toBe(false);
          else expect(readdirSync(target)).toEqual(expect.arrayContaining(["catalog.db", "usage.db"]));
          expect(readdirSync(isDone ? target : folder.path).join(" ")).not.toMatch(/staging|unfinished/);
        },
      );
      expect(steps).toBeGreaterThan(4);
    },
    TEST_MS_MAX,
  );
});
