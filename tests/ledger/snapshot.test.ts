import { Database } from "bun:sqlite";
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { openForWriting } from "#storage/sqlite/ledger/file/database.ts";
import { snapshotLedger } from "#storage/sqlite/ledger/file/snapshot.ts";
import { makeFolder } from "../support/folder.ts";
import { checkLedger } from "../support/invariants.ts";
import { readLines } from "../support/process.ts";
import { scale } from "../support/scale.ts";
import { NEW_YEAR_US } from "./usage.ts";
import { openSqliteWriter } from "../support/sqlite-writer.ts";

const SNAPSHOTS = 12 * scale;
/** Between two copies: each is read as a whole in the end. */
const EVENTS_BETWEEN = 40;

let folder: ReturnType<typeof makeFolder>;
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => folder.remove());

describe("a copy of a ledger that another process writes to", () => {
  test("counts every event that was recorded before it once, though segments come and go meanwhile", async () => {
    const source = join(folder.path, "source");
    mkdirSync(source);
    const child = Bun.spawn({
      cmd: [process.execPath, join(import.meta.dir, "child-rotating.ts"), source],
      stdio: ["pipe", "pipe", "inherit"],
    });
    let recorded = 0;
    const begun = Promise.withResolvers<void>();
    const reading = (async () => {
      for await (const line of readLines(child.stdout)) {
        recorded = Number(line);
        begun.resolve();
      }
    })();
    await begun.promise;

    const copies: { readonly target: string; readonly before: number }[] = [];
    let nextAt = 0;
    while (copies.length < SNAPSHOTS && child.exitCode === null) {
      if (recorded < nextAt) {
        await Bun.sleep(1);
        continue;
      }
      const target = join(folder.path, `copy-${copies.length}`);
      mkdirSync(join(target, "journal"), { recursive: true });
      const before = recorded;
      const names = await copy(source, target);
      expect(
        readdirSync(join(target, "journal"))
          .map((name) => `journal/${name}`)
          .sort(),
      ).toEqual([...names]);
      copies.push({ target, before });
      nextAt = before + EVENTS_BETWEEN;
    }
    await child.stdin.end();
    await reading;
    expect(await child.exited).toBe(0);
    expect(copies).toHaveLength(SNAPSHOTS);

    for (const { target, before } of copies) {
      commit(target);
      const ids = checkLedger(target).map(({ id }) => id);
      // No gap, none twice, and nothing from the future.
      expect(ids.length).toBeGreaterThanOrEqual(before);
      expect(ids).toEqual(ids.map((_, index) => NEW_YEAR_US + index + 1));
    }
  }, 120_000);

  test("that is told to end stops between two steps", async () => {
    const source = join(folder.path, "source");
    mkdirSync(source);
    const child = Bun.spawn({
      cmd: [process.execPath, join(import.meta.dir, "child-rotating.ts"), source],
      stdio: ["ignore", "ignore", "inherit"],
    });
    expect(await child.exited).toBe(0);
    const target = join(folder.path, "copy");
    mkdirSync(join(target, "journal"), { recursive: true });
    const reason = new Error("enough");
    expect(copy(source, target, AbortSignal.abort(reason))).rejects.toBe(reason);
  });
});

function copy(source: string, target: string, signal = new AbortController().signal) {
  return snapshotLedger({
    dataDir: source,
    target,
    onShare: (share) => expect(share).toBeGreaterThanOrEqual(0),
    signal,
  });
}

/** Does what a start does: the rest of the journal comes in. */
function commit(target: string): void {
  const database: Database = openForWriting(join(target, "usage.db"));
  const damage: unknown[] = [];
  const writer = openSqliteWriter({
    database,
    journalDirectory: join(target, "journal"),
    onDamage: (seen) => damage.push(seen),
  });
  while (writer.writeBatch());
  writer.close();
  expect(damage).toEqual([]);
}
