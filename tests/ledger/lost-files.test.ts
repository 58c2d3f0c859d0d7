import { describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { checkLedger } from "../support/invariants.ts";
import { serveLedger } from "../support/ledger.ts";
import { until } from "../support/waiting.ts";
import { makeDirectory } from "./journal-bench.ts";

/** A loss is noticed within 5 s. */
const NOTICED_MS_MAX = 5_000;
const TEST_MS_MAX = 30_000;

/** A server's ledger on the folder, which records requests one microsecond after the other. */
async function serve(dataDir = makeDirectory(), first = 0) {
  const opened = await serveLedger({ dataDir });
  let count = 0;
  return {
    ...opened,
    record: async (times: number) => {
      for (let index = 0; index < times; index += 1) {
        await opened.record(first + count);
        count += 1;
      }
    },
    recordedCount: () => count,
    /** Waits for a line of the log, as long as a loss may go unnoticed. */
    said: (sentence: string) =>
      until(
        () => opened.lines.some((line) => line.includes(sentence)),
        () => `${sentence}: ${opened.lines.join("")}`,
        NOTICED_MS_MAX,
      ),
    /** A report does not wait long for a writer on a busy machine: it is asked again until it has that many, and no more. */
    async expectTotal(wanted: number) {
      while (opened.gauges().filesMissing > 0 || (await opened.countRecorded()) < wanted) await Bun.sleep(10);
      expect(await opened.countRecorded()).toBe(wanted);
    },
    /** Closes it, and finds in its files what it has recorded. */
    async closeWith(eventCount: number) {
      await opened.close();
      return checkLedger(dataDir, { eventCount, isAtRest: true });
    },
  };
}

const REMOVED = "was removed or replaced";
const BACK = "is back under its name";

describe("a second server that starts because the lock file was removed", () => {
  test.concurrent(
    "has every request that the first one acknowledged once; the first says so in one line, and records no more",
    async () => {
      const first = await serve();
      await first.record(50);
      rmSync(join(first.dataDir, "serving.lock"));
      const second = await serve(first.dataDir, 100_000);
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
      await first.superseded;
      expect(first.lines.filter((line) => line.includes("another server has taken over"))).toHaveLength(1);
      await first.close();
      await second.record(10);
      const recorded = first.recordedCount() + second.recordedCount();
      await second.expectTotal(recorded);
      const events = await second.closeWith(recorded);
      expect(events.filter(({ outcome }) => outcome !== "ok")).toEqual([]);
    },
    TEST_MS_MAX,
  );

  test.concurrent(
    "comes too late once the first has noticed: it has locked the file that is there now",
    async () => {
      const first = await serve();
      rmSync(join(first.dataDir, "serving.lock"));
      await first.said(BACK);
      expect(await serve(first.dataDir).catch((cause: unknown) => cause)).toBeInstanceOf(SetupError);
      await first.record(1);
      await first.expectTotal(1);
      await first.close();
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
      const first = await serve();
      const { dataDir, lines } = first;
      await first.record(40);
      await first.ledger.flush();
      await first.record(20);
      lose(dataDir);
      await first.record(20);
      await first.said(REMOVED);
      await first.said(BACK);
      await first.record(20);
      await first.expectTotal(100);
      expect(first.gauges().filesLost).toBeGreaterThan(0);
      expect(lines.filter((line) => line.includes("could not be put back"))).toEqual([]);
      await first.closeWith(100);
      const again = await serve(dataDir, 1_000);
      await again.record(1);
      await again.expectTotal(101);
      await again.closeWith(101);
    },
    TEST_MS_MAX,
  );

  test.concurrent(
    "is back with all that was recorded once there is a folder again in the place of the removed one, and what to do is said until then",
    async () => {
      const server = await serve();
      const { dataDir } = server;
      await server.record(10);
      await server.ledger.flush();
      rmSync(dataDir, { recursive: true });
      writeFileSync(dataDir, "in the way");
      await server.record(10);
      await server.said("make the data folder usable before the server ends");
      expect(server.gauges().filesMissing).toBe(3);
      expect(server.lines.filter((line) => line.includes(BACK))).toEqual([]);
      rmSync(dataDir);
      mkdirSync(dataDir);
      await server.record(10);
      await server.said(BACK);
      await server.expectTotal(30);
      await server.closeWith(30);
    },
    TEST_MS_MAX,
  );

  test.concurrent(
    "takes the name from what was put there, which stays beside it",
    async () => {
      const server = await serve();
      const path = join(server.dataDir, "usage.db");
      await server.record(1);
      await server.ledger.flush();
      rmSync(path);
      writeFileSync(path, "of another program");
      await server.said(BACK);
      expect(existsSync(`${path}.found-1`)).toBe(true);
      await server.expectTotal(1);
      await server.close();
    },
    TEST_MS_MAX,
  );
});
