import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProxyError } from "#kernel/errors.ts";
import { Journal } from "#storage/ledger/journal/journal.ts";
import { openLedger } from "#storage/sqlite/ledger/ledger.ts";
import { createRecorder } from "#usage/recorder.ts";
import {
  createManualClock,
  createTestLog,
  ENDING,
  EVERYTHING,
  LineEncoder,
  NEW_YEAR_US,
  RUN_LINE,
  SUBJECT,
  toBeginLine,
} from "./usage.ts";

const folder = mkdtempSync(join(tmpdir(), "lockport-journal-"));
afterAll(() => rmSync(folder, { recursive: true }));

let counter = 0;

/** A journal on a disk that takes `disk.roomBytes` and no more. */
function createFailingBench(pendingBytesMax: number) {
  counter += 1;
  const directory = join(folder, String(counter));
  mkdirSync(directory);
  const disk = { roomBytes: Number.POSITIVE_INFINITY, writes: 0 };
  const { log, lines } = createTestLog();
  const journal = new Journal({
    directory,
    firstSegment: 1,
    log,
    onWritten: () => {},
    pendingBytesMax,
    write(fd, bytes) {
      disk.writes += 1;
      if (disk.roomBytes <= 0) throw Object.assign(new Error("no space"), { code: "ENOSPC" });
      const taken = writeSync(fd, bytes, 0, Math.min(bytes.length, disk.roomBytes));
      disk.roomBytes -= taken;
      return taken;
    },
  });
  const ledger = createRecorder({
    journal,
    sync: "interval",
    flush: () => journal.stored(),
    close: () => journal.close(),
  });
  const content = () =>
    readdirSync(directory)
      .sort()
      .map((name) => readFileSync(join(directory, name), "utf8"))
      .join("");
  return { disk, journal, ledger, content, lines };
}

function append(journal: Journal, line: Uint8Array): void {
  journal.lines.append(line);
  journal.appended();
}

describe("a full disk", () => {
  test("keeps events in memory up to a limit, then refuses new requests, and recovers by itself without losing a line", async () => {
    const { disk, ledger, content, lines } = createFailingBench(1500);
    await ledger.open(SUBJECT).end(ENDING);
    const running = ledger.open(SUBJECT);
    // In the middle of a line.
    disk.roomBytes = 100;
    let opened = 0;
    let refusal: unknown = null;
    for (; opened < 1000 && refusal === null; opened += 1) {
      try {
        ledger.open(SUBJECT);
        await ledger.written();
      } catch (cause) {
        refusal = cause;
      }
    }
    expect(refusal instanceof ProxyError && refusal.code).toBe("internal_error");
    expect(opened).toBeLessThan(50);
    // A request that is under way is never turned away at its end.
    await running.end(ENDING);

    disk.roomBytes = Number.POSITIVE_INFINITY;
    await ledger.flush();
    ledger.open(SUBJECT);
    await ledger.close();
    const written = content();
    const encoder = new LineEncoder();
    const expected = [
      RUN_LINE,
      encoder.begin(1, 1, SUBJECT),
      encoder.end(1, 1, ENDING),
      encoder.begin(1, 2, SUBJECT),
      ...Array.from({ length: opened - 1 }, (_, index) => encoder.begin(1, 3 + index, SUBJECT)),
      encoder.end(1, 2, ENDING),
      encoder.begin(1, opened + 2, SUBJECT),
    ];
    expect(written).toBe(Buffer.concat(expected).toString());
    expect(lines.some((line) => line.includes("refuses writes"))).toBe(true);
    expect(lines.some((line) => line.includes("takes writes again"))).toBe(true);
  });

  test("of a real file system is survived: nothing is lost, and requests are taken again when there is room", async () => {
    const mount = join(folder, `tmpfs-${(counter += 1)}`);
    mkdirSync(mount);
    const mounted = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", mount], {
      stderr: "ignore",
    });
    if (mounted.exitCode !== 0) {
      console.log("skipped: a small file system cannot be mounted here");
      return;
    }
    try {
      const { log } = createTestLog();
      const opened = await openLedger({
        dataDir: mount,
        clock: createManualClock(),
        log,
        sync: "interval",
        retentionDays: null,
      });
      await opened.ledger.open(SUBJECT).end(ENDING);
      await opened.ledger.flush();
      // Until not a byte is left.
      const ballast = join(mount, "ballast");
      const { bavail, bsize } = statfsSync(mount);
      try {
        writeFileSync(ballast, new Uint8Array(bavail * bsize));
      } catch {}
      for (let index = 1; index <= 300; index += 1) {
        const usage = opened.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + index });
        await usage.end(ENDING);
      }
      rmSync(ballast);
      await opened.ledger.flush();
      expect((await opened.stats.listRequests(EVERYTHING, { limit: 1, offset: 0 })).total).toBe(301);
      await opened.close();
    } finally {
      Bun.spawnSync(["umount", "--lazy", mount]);
    }
  }, 30_000);
});

describe("an open request", () => {
  test("ended twice is a bug that throws and writes nothing", async () => {
    const { ledger, content } = createFailingBench(2000);
    const usage = ledger.open(SUBJECT);
    await usage.end(ENDING);
    const before = content();
    expect(() => usage.end(ENDING)).toThrow("ended twice");
    expect(content()).toBe(before);
    await ledger.close();
  });

  test("is in the file when written is fulfilled, its end when its own promise is", async () => {
    const { ledger, content } = createFailingBench(2000);
    const encoder = new LineEncoder();
    const usage = ledger.open(SUBJECT);
    await ledger.written();
    expect(content()).toEndWith(encoder.begin(1, 1, SUBJECT).toString());
    await usage.end(ENDING);
    expect(content()).toEndWith(encoder.end(1, 1, ENDING).toString());
    await ledger.close();
  });

  test("cannot be opened after the ledger was closed", async () => {
    const { ledger } = createFailingBench(2000);
    await ledger.close();
    expect(() => ledger.open(SUBJECT)).toThrow(ProxyError);
  });
});

describe("a turn of the event loop", () => {
  test("is one write and one promise for all that begins and ends in it", async () => {
    const { disk, ledger } = createFailingBench(2000);
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
    const { disk, ledger } = createFailingBench(2000);
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
    const { journal } = createFailingBench(2000);
    append(journal, RUN_LINE);
    expect(journal.synced()).toBe(journal.synced());
    await journal.synced();
    await journal.close();
  });

  test("of which the disk took nothing counts as written, and waits in memory", async () => {
    const { disk, journal, ledger } = createFailingBench(2000);
    await ledger.written();
    disk.roomBytes = 0;
    ledger.open(SUBJECT);
    await ledger.written();
    expect(journal.pendingBytes).toBeGreaterThan(0);
    disk.roomBytes = Number.POSITIVE_INFINITY;
    await ledger.close();
    expect(journal.pendingBytes).toBe(0);
  });
});

describe("segments", () => {
  test("follow one another at a size, and no line is cut in two", async () => {
    counter += 1;
    const directory = join(folder, String(counter));
    mkdirSync(directory);
    const { log } = createTestLog();
    const journal = new Journal({
      directory,
      firstSegment: 7,
      log,
      onWritten: () => {},
      segmentBytesMax: 500,
    });
    const line = toBeginLine(1, SUBJECT);
    for (let index = 0; index < 20; index += 1) {
      append(journal, line);
      await journal.written();
    }
    await journal.synced();
    await journal.close();
    const names = readdirSync(directory).sort();
    expect(names.length).toBeGreaterThan(3);
    expect(names[0]).toBe("000000000007.journal");
    for (const name of names) {
      const text = readFileSync(join(directory, name), "utf8");
      expect(text).toBe(line.toString().repeat(text.length / line.toString().length));
    }
  });

  test.skipIf(process.platform === "win32" || process.getuid?.() === 0)(
    "are confirmed as well in a folder that may not be opened",
    async () => {
      counter += 1;
      const directory = join(folder, String(counter));
      mkdirSync(directory);
      chmodSync(directory, 0o300);
      const { log, lines } = createTestLog();
      const journal = new Journal({ directory, firstSegment: 1, log, onWritten: () => {} });
      append(journal, RUN_LINE);
      await journal.synced();
      await journal.close();
      chmodSync(directory, 0o700);
      expect(lines).toEqual([]);
    },
  );

  test("in the strict setting the end of a request waits for the disk", async () => {
    const { disk, journal } = createFailingBench(2000);
    disk.roomBytes = 0;
    append(journal, RUN_LINE);
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
