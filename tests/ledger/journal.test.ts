import { describe, expect, test } from "bun:test";
import { rmSync, statfsSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ProxyError } from "#kernel/errors.ts";
import type { UsageLedger } from "#usage/store.ts";
import { spawnLedger } from "../storage/support.ts";
import { checkLedger } from "../support/invariants.ts";
import { serveLedger } from "../support/ledger.ts";
import { readLines } from "../support/process.ts";
import { makeDirectory, openJournal } from "./journal-bench.ts";
import { ENDING, EVERYTHING, LineEncoder, NEW_YEAR_US, RUN_LINE, SUBJECT } from "./usage.ts";

/** Lines of requests as they stand in the first segment, by their numbers. */
function createLines() {
  const encoder = new LineEncoder();
  const begin = (sequence: number) => encoder.begin(1, sequence, SUBJECT);
  const end = (sequence: number) => encoder.end(1, sequence, ENDING);
  return { begin, end, both: (sequence: number) => Buffer.concat([begin(sequence), end(sequence)]) };
}

const textOf = (lines: readonly Uint8Array[]) => Buffer.concat([RUN_LINE, ...lines]).toString();

/** Counts the requests that begin and end before one is refused. */
async function recordUntilRefused(ledger: UsageLedger): Promise<number> {
  for (let count = 0; count < 20_000; count += 1) {
    try {
      await ledger.open(SUBJECT).end(ENDING);
    } catch (cause) {
      expect(cause instanceof ProxyError && cause.code).toBe("internal_error");
      return count;
    }
  }
  throw new Error("no request was refused");
}

describe("a full disk", () => {
  test("has a place for everything that was acknowledged, refuses new requests while running ones need the rest, and recovers by itself", async () => {
    const { disk, journal, ledger, content, said } = openJournal();
    await ledger.open(SUBJECT).end(ENDING);
    const running = Array.from({ length: 4_000 }, () => ledger.open(SUBJECT));
    await ledger.written();
    disk.roomBytes = 0;
    const count = await recordUntilRefused(ledger);
    expect(count).toBeGreaterThan(1_000);
    // Requests that are under way are never turned away at their end, and none of it is in memory alone.
    for (const usage of running) await usage.end(ENDING);
    expect(journal.pendingBytes).toBe(0);
    const isSaid = (sentence: string) => said.filter((line) => line.includes(sentence)).length;
    expect(isSaid("the disk is full")).toBe(1);
    expect(isSaid("refuses writes")).toBe(0);
    expect(isSaid("has room again")).toBe(0);

    disk.roomBytes = Number.POSITIVE_INFINITY;
    await ledger.open(SUBJECT).end(ENDING);
    expect(isSaid("has room again")).toBe(1);
    const { begin, end, both } = createLines();
    const sequences = (first: number, length: number) => Array.from({ length }, (_, index) => first + index);
    const expected = [
      both(1),
      ...sequences(2, 4_000).map(begin),
      ...sequences(4_002, count).map(both),
      ...sequences(2, 4_000).map(end),
      both(4_002 + count),
    ];
    expect(content() === textOf(expected)).toBe(true);
    await ledger.close();
  });

  test("that gives each write a new place keeps what is under way in memory, refuses new requests at once, and loses no line", async () => {
    const { disk, ledger, content, said } = openJournal({ isCopying: true });
    await ledger.open(SUBJECT).end(ENDING);
    const running = ledger.open(SUBJECT);
    await ledger.written();
    // In the middle of a line.
    disk.roomBytes = 100;
    expect(await recordUntilRefused(ledger)).toBe(1);
    await running.end(ENDING);

    disk.roomBytes = Number.POSITIVE_INFINITY;
    await ledger.flush();
    ledger.open(SUBJECT);
    await ledger.close();
    const { begin, end, both } = createLines();
    expect(content()).toBe(textOf([both(1), begin(2), both(3), end(2), begin(4)]));
    expect(said.some((line) => line.includes("refuses writes"))).toBe(true);
    expect(said.some((line) => line.includes("takes writes again"))).toBe(true);
  });

  test("of a real file system is survived, and so is a kill on it: nothing acknowledged is lost or counted twice", async () => {
    const mount = makeDirectory();
    const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", mount], {
      stderr: "ignore",
    });
    if (mounted.exitCode !== 0) {
      console.log("skipped: a small file system cannot be mounted here");
      return;
    }
    const place = { dataDir: mount, database: { kind: "sqlite", path: join(mount, "catalog.db") } } as const;
    const child = spawnLedger(place, "record", [NEW_YEAR_US]);
    try {
      const done: number[] = [];
      const ballast = join(mount, "ballast");
      for await (const line of readLines(child.stdout)) {
        const [word, at] = line.split(" ");
        if (word === "done") done.push(Number(at));
        if (done.length === 100 && word === "done") fillUp(ballast);
        if (word === "refused") break;
      }
      child.kill("SIGKILL");
      await child.exited;
      rmSync(ballast);
      const opened = await serveLedger({ dataDir: mount });
      await opened.ledger.flush();
      // Requests that the kill cut off have events too, and are not ok.
      const ok = { ...EVERYTHING, filter: { ...EVERYTHING.filter, outcomes: ["ok"] as const } };
      expect(done.length).toBeGreaterThan(1_000);
      expect((await opened.stats.listRequests(ok, { limit: 1, offset: 0 })).total).toBe(done.length);
      await opened.close();
      checkLedger(mount);
    } finally {
      child.kill("SIGKILL");
      Bun.spawnSync(["umount", "--lazy", mount]);
    }
  }, 60_000);
});

/** Until not a byte is left. */
function fillUp(ballast: string): void {
  const { bavail, bsize } = statfsSync(dirname(ballast));
  try {
    writeFileSync(ballast, new Uint8Array(bavail * bsize));
  } catch {}
}

describe("an open request", () => {
  test("ended twice is a bug that throws and writes nothing", async () => {
    const { ledger, content } = openJournal();
    const usage = ledger.open(SUBJECT);
    await usage.end(ENDING);
    const before = content();
    expect(() => usage.end(ENDING)).toThrow("ended twice");
    expect(content()).toBe(before);
    await ledger.close();
  });

  test("is in the file when written is fulfilled, its end when its own promise is", async () => {
    const { ledger, content } = openJournal();
    const { begin, end } = createLines();
    const usage = ledger.open(SUBJECT);
    await ledger.written();
    expect(content()).toBe(textOf([begin(1)]));
    await usage.end(ENDING);
    expect(content()).toEndWith(end(1).toString());
    await ledger.close();
  });

  test("has its end in the journal before that is closed, and nothing new begins meanwhile", async () => {
    const { ledger, content } = openJournal();
    const running = [ledger.open(SUBJECT), ledger.open(SUBJECT)];
    const closing = ledger.close();
    expect(() => ledger.open(SUBJECT)).toThrow(ProxyError);
    for (const usage of running) await usage.end(ENDING);
    await Promise.all([closing, ledger.close()]);
    const { begin, end } = createLines();
    expect(content()).toBe(textOf([begin(1), begin(2), end(1), end(2)]));
  });
});

describe("a turn of the event loop", () => {
  test("is one write and one promise for all that begins and ends in it", async () => {
    const { disk, ledger } = openJournal();
    await ledger.open(SUBJECT).end(ENDING);
    const before = disk.writes;
    const usages = Array.from({ length: 30 }, () => ledger.open(SUBJECT));
    const written = ledger.written();
    expect(new Set(usages.map((usage) => usage.end(ENDING)))).toEqual(new Set([written]));
    expect(disk.writes).toBe(before);
    await written;
    expect(disk.writes).toBe(before + 1);
    await ledger.close();
  });

  test("lets no more than a limit of requests go upstream at once", async () => {
    const { disk, ledger } = openJournal();
    await ledger.written();
    const before = disk.writes;
    const promises = Array.from({ length: 130 }, () => {
      ledger.open(SUBJECT);
      return ledger.written();
    });
    await Promise.all(promises);
    expect(disk.writes).toBe(before + 3);
    await ledger.close();
  });

  test("that the strict setting confirms is one sync for all that ends in it", async () => {
    const { journal, append } = openJournal();
    const appended = append(RUN_LINE);
    expect(journal.synced()).toBe(journal.synced());
    await Promise.all([appended, journal.synced()]);
    await journal.close();
  });

  test("of which the disk took nothing counts as written, and waits in memory", async () => {
    const { disk, journal, ledger } = openJournal({ isCopying: true });
    await ledger.written();
    disk.roomBytes = 0;
    ledger.open(SUBJECT);
    await ledger.written();
    expect(journal.pendingBytes).toBeGreaterThan(0);
    disk.roomBytes = Number.POSITIVE_INFINITY;
    await ledger.close();
    expect(journal.pendingBytes).toBe(0);
  });

  test("in the strict setting the end of a request waits for the disk", async () => {
    const { disk, journal, append } = openJournal({ isCopying: true });
    disk.roomBytes = 0;
    await append(RUN_LINE);
    let isSynced = false;
    const synced = journal.synced().then(() => (isSynced = true));
    // Longer than any pace of the journal's own that could confirm it wrongly.
    const waited = Promise.race([synced, Bun.sleep(150)]);
    await waited;
    expect(isSynced).toBe(false);
    disk.roomBytes = Number.POSITIVE_INFINITY;
    await synced;
    await journal.close();
  });
});
