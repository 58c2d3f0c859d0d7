import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Log, LogFields } from "#kernel/log.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { isOnPostgres } from "../support/engine.ts";
import { makeFolder } from "../support/folder.ts";
import { until } from "../support/waiting.ts";

const TEST_MS_MAX = 60_000;

let folder: ReturnType<typeof makeFolder>;
let dataDir: string;
let app: TestApp;
let lines: { message: string; fields: LogFields | undefined }[];
beforeEach(async () => {
  folder = makeFolder();
  dataDir = join(folder.path, "data");
  lines = [];
  const note = (message: string, fields?: LogFields) => void lines.push({ message, fields });
  const log: Log = { debug() {}, info() {}, warn: note, error: note };
  app = await startApp({ dataDir }, { log });
});
afterEach(() => folder.remove());

const makeKey = (label: string) => app.api("POST", "/my/keys", { label });
const isTold = (text: string) => lines.some(({ message }) => message.includes(text));
const health = async () => (await fetch(`${app.url}/healthz`)).status;

describe.skipIf(isOnPostgres)("a server whose catalog.db is gone", () => {
  test(
    "refuses changes and is not healthy, answers from what it has open, saves that under the name, and has it at the next start",
    async () => {
      expect((await makeKey("before")).status).toBe(201);
      for (const suffix of ["", "-wal", "-shm"])
        rmSync(join(dataDir, `catalog.db${suffix}`), { force: true });
      const refused = await makeKey("lost");
      expect(refused.status).toBe(500);
      expect(await refused.text()).toContain("Restart the server.");
      expect(await health()).toBe(503);
      expect((await app.api("GET", "/my/keys")).status).toBe(200);
      await until(
        () => isTold("changes are refused until the server is restarted"),
        () => "the log does not say what to do",
      );
      expect(existsSync(join(dataDir, "catalog.db"))).toBe(true);
      // It is another file: what were written to the open one would not be in it.
      expect((await makeKey("lost as well")).status).toBe(500);
      expect(await health()).toBe(503);
      await app.stop();
      const again = await startApp({ dataDir });
      const kept = await (
        await again.api("GET", "/my/keys", undefined, { authorization: `Bearer ${app.adminKey}` })
      ).text();
      expect(kept).toContain('"before"');
      expect(kept).not.toContain('"lost');
      expect(await (await fetch(`${again.url}/healthz`)).json()).toEqual({ status: "ok" });
      await again.stop();
    },
    TEST_MS_MAX,
  );

  test(
    "leaves another file alone that has taken the name, and goes on where its own is put back",
    async () => {
      const [path, aside] = [join(dataDir, "catalog.db"), join(dataDir, "aside.db")];
      renameSync(path, aside);
      writeFileSync(path, "another file");
      await until(
        () => isTold("was removed or replaced"),
        () => "the log does not tell of the loss",
      );
      expect(await Bun.file(path).text()).toBe("another file");
      expect((await makeKey("lost")).status).toBe(500);
      renameSync(aside, path);
      expect((await makeKey("kept")).status).toBe(201);
      expect(await health()).toBe(200);
      await app.stop();
    },
    TEST_MS_MAX,
  );
});
