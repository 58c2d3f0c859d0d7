import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import type { OpenedLedger } from "#storage/threads/ledger.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger } from "../support/invariants.ts";
import { until } from "../support/waiting.ts";
import { createManualClock, createTestLog, ENDING, EVERYTHING, NEW_YEAR_US, SUBJECT } from "./usage.ts";
import { openLedger } from "../support/ledger.ts";

/** A loss is noticed within 5 s. */
const NOTICED_MS_MAX = 5_000;
const TEST_MS_MAX = 30_000;

const folder = makeFolder();
afterAll(() => folder.remove());

let counter = 0;

/** A data folder of its own: the tests wait beside one another for what is looked at once a second. */
function makeDataDir(): string {
  counter += 1;
  const dataDir = join(folder.path, String(counter));
  mkdirSync(dataDir);
  return dataDir;
}

/** A server's ledger on the folder, which records requests one microsecond after the other. */
async function serve(dataDir: string, firstUs = NEW_YEAR_US) {
  const { log, lines } = createTestLog();
  const clock = createManualClock();
  const opened = await openLedger({ dataDir, clock, log, sync: "interval", retentionDays: null });
  let count = 0;
  return {
    opened,
    lines,
    record: async (times: number) => {
      for (let index = 0; index < times; index += 1) {
        await opened.ledger.open({ ...SUBJECT, arrivedAtUs: firstUs + count }).end(ENDING);
        count += 1;
      }
    },
    recordedCount: () => count,
    /** Waits for a line of the log, as long as a loss may go unnoticed. */
    said: (sentence: string) =>
      until(
        () => lines.some((line) => line.includes(sentence)),
        () => `${sentence}: ${lines.join("")}`,
        NOTICED_MS_MAX,
      ),
  };
}

const total = async (opened: OpenedLedger) =>
  (await opened.stats.listRequests(EVERYTHING, { limit: 1, offset: 0 })).total;

/** A report does not wait long for a writer on a busy machine: it is asked again until it has that many, and no more. */
async function expectTotal(opened: OpenedLedger, count: number): Promise<void> {
  while ((await total(opened)) < count) await Bun.sleep(50);
  expect(await total(opened)).toBe(count);
}

const REMOVED = "was removed or replaced";
const BACK = "is back under its name";

describe("a second server that starts because the lock file was removed", () => {
  test.concurrent(
    "has every request that the first one acknowledged once; the first says so in one line, and records no more",
    async () => {
      const dataDir = makeDataDir();
      const first = await serve(dataDir);
      await first.record(50);
      rmSync(join(dataDir, "serving.lock"));
      const second = await serve(dataDir, NEW_YEAR_US + 100_000);
      // Both at once, until the first one knows.
      const refusal = await (async () => {
        for (;;) {
          try {
            await first.record(1);
          } catch (cause) {
            return cause;
          }
          await second.record(1);
          // Requests come from sockets: what is recorded in microtasks alone leaves no turn for the watch.
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      expect(refusal).toMatchObject({ code: "internal_error" });
      await first.opened.superseded;
      expect(first.lines.filter((line) => line.includes("another server has taken over"))).toHaveLength(1);
      await first.opened.close();
      await second.record(10);
      const recorded = first.recordedCount() + second.recordedCount();
      await expectTotal(second.opened, recorded);
      await second.opened.close();
      const events = checkLedger(dataDir, { eventCount: recorded, isAtRest: true });
      expect(events.filter(({ outcome }) => outcome !== "ok")).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test.concurrent(
    "comes too late once the first has noticed: it has locked the file that is there now",
    async () => {
      const dataDir = makeDataDir();
      const first = await serve(dataDir);
      rmSync(join(dataDir, "serving.lock"));
      await first.said(BACK);
      const refusal: unknown = await serve(dataDir).catch((cause: unknown) => cause);
      expect(refusal).toBeInstanceOf(SetupError);
      await first.record(1);
      await expectTotal(first.opened, 1);
      await first.opened.close();
    },
    TEST_MS_MAX,
  );
});

const DATABASE_FILES = ["usage.db", "usage.db-wal", "usage.db-shm"];

function remove(dataDir: string, names: readonly string[]): void {
  for (const name of names) rmSync(join(dataDir, name), { recursive: true, force: true });
}

function removeSegments(dataDir: string): readonly string[] {
  const paths = readdirSync(join(dataDir, "journal")).map((name) => join(dataDir, "journal", name));
  for (const path of paths) rmSync(path);
  return paths;
}

const LOSSES: readonly (readonly [what: string, lose: (dataDir: string) => void])[] = [
  ["its journal's segment", removeSegments],
  ["its journal's folder", (dataDir) => remove(dataDir, ["journal"])],
  [
    "its journal's segment for another file",
    (dataDir) => removeSegments(dataDir).forEach((path) => writeFileSync(path, "not a line\n")),
  ],
  ["usage.db alone", (dataDir) => remove(dataDir, ["usage.db"])],
  ["usage.db and its log", (dataDir) => remove(dataDir, DATABASE_FILES)],
  [
    "usage.db for an older one",
    (dataDir) => {
      copyFileSync(join(dataDir, "usage.db"), join(dataDir, "older"));
      remove(dataDir, DATABASE_FILES);
      renameSync(join(dataDir, "older"), join(dataDir, "usage.db"));
    },
  ],
  ["everything", (dataDir) => remove(dataDir, readdirSync(dataDir))],
];

describe("what a running server has open", () => {
  test.concurrent.each(LOSSES)(
    "is back under its name within 5 s of the loss of %s, and nothing acknowledged is lost or doubled",
    async (_, lose) => {
      const dataDir = makeDataDir();
      const { opened, record, said, lines } = await serve(dataDir);
      await record(40);
      await opened.ledger.flush();
      await record(20);
      lose(dataDir);
      await record(20);
      await said(REMOVED);
      await said(BACK);
      await record(20);
      while (opened.gauges().filesMissing > 0) await Bun.sleep(10);
      await expectTotal(opened, 100);
      expect(opened.gauges().filesLost).toBeGreaterThan(0);
      expect(lines.filter((line) => line.includes("could not be put back"))).toEqual([]);
      await opened.close();
      checkLedger(dataDir, { eventCount: 100, isAtRest: true });

      const again = await serve(dataDir, NEW_YEAR_US + 1_000);
      await again.record(1);
      await expectTotal(again.opened, 101);
      await again.opened.close();
      checkLedger(dataDir, { eventCount: 101, isAtRest: true });
    },
    TEST_MS_MAX,
  );

  test.concurrent(
    "is back with all that was recorded once there is a folder again in the place of the removed one, and what to do is said until then",
    async () => {
      const dataDir = makeDataDir();
      const { opened, record, said, lines } = await serve(dataDir);
      await record(10);
      await opened.ledger.flush();
      rmSync(dataDir, { recursive: true });
      writeFileSync(dataDir, "in the way");
      await record(10);
      await said("make the data folder usable before the server ends");
      expect(opened.gauges().filesMissing).toBe(3);
      expect(lines.filter((line) => line.includes(BACK))).toEqual([]);
      rmSync(dataDir);
      mkdirSync(dataDir);
      await record(10);
      await said(BACK);
      while (opened.gauges().filesMissing > 0) await Bun.sleep(10);
      await expectTotal(opened, 30);
      await opened.close();
      checkLedger(dataDir, { eventCount: 30, isAtRest: true });
    },
    TEST_MS_MAX,
  );

  test.concurrent(
    "takes the name from what was put there, which stays beside it",
    async () => {
      const dataDir = makeDataDir();
      const { opened, record, said } = await serve(dataDir);
      await record(1);
      await opened.ledger.flush();
      rmSync(join(dataDir, "usage.db"));
      writeFileSync(join(dataDir, "usage.db"), "of another program");
      await said(BACK);
      expect(existsSync(join(dataDir, "usage.db.found-1"))).toBe(true);
      await expectTotal(opened, 1);
      await opened.close();
    },
    TEST_MS_MAX,
  );
});
