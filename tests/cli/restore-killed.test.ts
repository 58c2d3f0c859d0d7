import * as fc from "fast-check";
import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { move, writeMark } from "#boot/folder/half-restore.ts";
import { lockDataFolder } from "#storage/files/folder-lock.ts";
import { startApp } from "../support/app.ts";
import { useFolder } from "../support/folder.ts";
import { runLocal, type CliInput, type CliRun } from "./terminal.ts";
import { Database } from "bun:sqlite";
import { writeArchive } from "#storage/backup/archive-writer.ts";
import { APPLICATION_ID } from "#storage/sqlite/ledger/file/schema.ts";

const folder = useFolder();
let target: string;
let file: string;

beforeEach(async () => {
  target = join(folder.path, "target");
  file = join(folder.path, "backup.tar.zst");
  await run("admin bootstrap");
});

const MOVES_IN_TEST = 4;

const run = (line: string, input?: CliInput) => runLocal(folder.data, line.split(" "), input);
const restore = (path = file, input?: CliInput & { readonly flags?: readonly string[] }) =>
  runLocal(target, ["restore", path, ...(input?.flags ?? [])], input);
const listKeys = async (directory: string) =>
  JSON.parse((await runLocal(directory, ["key", "list", "--json"])).data);

/** Leaves in `target` what a restore does that is killed after so many of its moves. */
async function makeKilled(done: number): Promise<void> {
  const staging = join(target, ".lockport-staging-1");
  const aside = join(target, "before-restore-1");
  mkdirSync(staging, { recursive: true });
  lockDataFolder(staging).release();
  const names = ["secret.key", "catalog.db"];
  for (const name of names) writeFileSync(join(staging, name), "new");
  const old = names.filter((name) => existsSync(join(target, name)));
  if (old.length > 0) mkdirSync(aside);
  const moves = {
    aside: old.map((name) => ({ from: join(target, name), to: join(aside, name) })),
    placed: names.map((name) => ({ from: join(staging, name), to: join(target, name) })),
  };
  writeMark(join(target, "restore.unfinished"), moves);
  for (const each of [...moves.aside, ...moves.placed].slice(0, done)) await move(each);
}

describe("a restore that was cut off", () => {
  test("after one that was cut off half-way nothing starts, and another one with --force does", async () => {
    await run(`backup ${file} --with-secret-key`);
    expect((await restore()).code).toBe(0);
    writeFileSync(join(target, "restore.unfinished"), "");
    const blocked = await runLocal(target, ["key", "list"]);
    expect(blocked.code).toBe(78);
    expect(blocked.messages).toContain("cut off half-way");
    expect((await restore()).code).toBe(1);
    expect((await restore(file, { flags: ["--force", "--allow-unverified"] })).code).toBe(0);
    expect(existsSync(join(target, "restore.unfinished"))).toBe(false);
    expect(await listKeys(target)).toHaveLength(1);
  });

  test.each([...Array(MOVES_IN_TEST + 1).keys()])(
    "that was killed after %d of its moves is taken back by the next one, which puts the whole old installation aside",
    async (done) => {
      await run(`backup ${file} --with-secret-key`);
      await runLocal(target, ["admin", "bootstrap"]);
      await runLocal(target, ["key", "create", "admin"]);
      const before = await listKeys(target);
      await makeKilled(done);
      expect((await runLocal(target, ["key", "list"])).code).toBe(78);

      const { code, data } = await restore(file, { flags: ["--force", "--allow-unverified", "--json"] });
      expect(code).toBe(0);
      const asidePaths: readonly string[] = JSON.parse(data).aside;
      expect(asidePaths).toHaveLength(1);
      for (const path of asidePaths) expect(await listKeys(path)).toEqual(before);
      expect(await listKeys(target)).toEqual(await listKeys(folder.data));
      expect(readdirSync(target).filter((name) => name.startsWith("before-restore-"))).toHaveLength(1);
      expect(existsSync(join(target, "restore.unfinished"))).toBe(false);
    },
  );

  test("that was killed keeps the old installation when the next one is refused", async () => {
    await run(`backup ${file}`);
    await runLocal(target, ["admin", "bootstrap"]);
    const before = await listKeys(target);
    const aside = join(target, "before-restore-1");
    const from = join(target, "catalog.db");
    mkdirSync(aside);
    const moves = { aside: [{ from, to: join(aside, "catalog.db") }], placed: [] };
    writeMark(join(target, "restore.unfinished"), moves);
    for (const each of moves.aside) await move(each);
    // The backup has another key than the folder.
    expect((await restore(file, { flags: ["--force", "--allow-unverified"] })).code).toBe(78);
    expect(await listKeys(target)).toEqual(before);
  });

  test.each([...Array(MOVES_IN_TEST + 1).keys()])(
    "over an installation after %d of its moves: commands say so, and the next start goes back to that installation",
    async (done) => {
      await runLocal(target, ["admin", "bootstrap"]);
      const before = await listKeys(target);
      await makeKilled(done);
      const blocked = await runLocal(target, ["key", "list"]);
      expect(blocked.code).toBe(78);
      expect(blocked.messages).toContain(
        "cut off half-way: start the server (lockport serve), which goes back",
      );
      const doctor = await runLocal(target, ["doctor"], { env: { PROXY_PORT: "0" } });
      expect(doctor.code).toBe(1);
      expect(doctor.data).toContain("→ Start the server (lockport serve), which goes back");

      await (await startApp({ dataDir: target })).stop();
      const [own, ...others] = (await listKeys(target)).toReversed();
      expect(own.label).toBe("tests");
      expect(others).toEqual(before);
      const left = readdirSync(target).filter((name) => /staging|before-restore|unfinished/.test(name));
      expect(left).toEqual([]);
    },
  );

  test("into an empty folder is no first start: nothing starts, and it is said what to do with and without the backup", async () => {
    await makeKilled(MOVES_IN_TEST - 1);
    for (const line of [
      ["admin", "bootstrap"],
      ["key", "list"],
    ]) {
      const { code, data, messages } = await runLocal(target, line);
      expect({ code, data }).toEqual({ code: 78, data: "" });
      expect(messages).toContain("run lockport restore FILE --force again; without that file, move");
    }
    expect(await startApp({ dataDir: target }).catch(String)).toContain("cut off half-way");
    expect(existsSync(join(target, "catalog.db"))).toBe(true);
  });

  test("is told from one that is at work, which no start takes back", async () => {
    await runLocal(target, ["admin", "bootstrap"]);
    await makeKilled(MOVES_IN_TEST);
    const lock = lockDataFolder(target);
    try {
      for (const line of [
        ["key", "list"],
        ["admin", "bootstrap"],
      ]) {
        const { code, messages } = await runLocal(target, line);
        expect(code).toBe(78);
        expect(messages).toContain("holds a restore that is under way: wait until it has ended");
      }
      expect(readFileSync(join(target, "catalog.db"), "utf8")).toBe("new");
    } finally {
      lock.release();
    }
  });
});

describe("a file that is no whole backup", () => {
  test("is a sentence, exit code 1 and no change, wherever it is cut", async () => {
    await run(`backup ${file} --with-secret-key`);
    const whole = readFileSync(file);
    const ends = [...Array(60).keys()];
    const cuts = [...ends, ...ends.map((back) => whole.length - 1 - back), ...everyNth(whole.length, 41)];
    for (const at of cuts) await expectRefusal(whole.subarray(0, at));
  });

  test("is refused with any bit flipped, and with anything before or behind it", async () => {
    await run(`backup ${file} --with-secret-key`);
    const whole = readFileSync(file);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(7), async (at, bit) => {
        const flipped = Buffer.from(whole);
        flipped[at] = (flipped[at] ?? 0) ^ (1 << bit);
        await expectRefusal(flipped);
      }),
      { numRuns: 200, verbose: true },
    );
    await expectRefusal(Buffer.concat([whole, Buffer.from("x")]));
    await expectRefusal(Buffer.concat([Buffer.from("x"), whole]));
    await expectRefusal(Buffer.concat([whole, whole]));
    // The file itself was good all along.
    writeFileSync(file, whole);
    expect((await restore()).code).toBe(0);
  });

  test("of another kind is named so: a page, JSON, nothing, a folder, another archive, no file at all", async () => {
    for (const text of ["", "<!doctype html><html></html>", '{"a":1}', "\u0000".repeat(2000)]) {
      await expectRefusal(Buffer.from(text));
    }
    await expectRefusal(Buffer.from(Bun.zstdCompressSync("hello ".repeat(1000))));
    await expectRefusal(Buffer.from(Bun.gzipSync("hello ".repeat(1000))));
    for (const path of [folder.path, join(folder.path, "absent")]) {
      expect(await restore(path)).toMatchObject({ code: 1, data: "" });
      expect(existsSync(target)).toBe(false);
    }
  });

  test("is refused though its seal holds, when its content is not what its manifest says", async () => {
    const catalog = readFileSync(join(folder.data, "catalog.db"));
    const good = { "catalog.db": catalog };
    const cases: readonly Sealed[] = [
      { parts: good, claimed: { "catalog.db": Buffer.from("other") } },
      { parts: good, claimed: { ...good, "usage.db": Buffer.from("missing") } },
      { parts: { ...good, "usage.db": Buffer.from("more") }, claimed: good },
      { parts: { ...good, "../escape": Buffer.from("x") } },
      { parts: { ...good, "/etc/escape": Buffer.from("x") } },
      { parts: { ...good, "journal/../../escape.journal": Buffer.from("x") } },
      { parts: { "usage.db": Buffer.from("x") } },
      { parts: good, more: { format: "another" } },
      { parts: good, more: { created_at: 5 } },
      { parts: good, manifest: "[]" },
      { parts: good, manifest: "<html>" },
    ];
    for (const each of cases) {
      await seal(each);
      const { code, data, messages } = await restore();
      expect({ each, code, data }).toMatchObject({ code: 1, data: "" });
      expect(messages).toContain("damaged");
      expect(readdirSync(folder.path).sort()).toEqual(["backup.tar.zst", "data"]);
    }
  });

  test("is refused when a database in it is damaged, foreign or of a later format", async () => {
    const catalog = readFileSync(join(folder.data, "catalog.db"));
    const torn = Buffer.from(catalog);
    torn.fill(0xff, 8192, 40_000);
    const cases: readonly (readonly [Sealed, string])[] = [
      [{ parts: { "catalog.db": torn } }, "damaged"],
      [{ parts: { "catalog.db": Buffer.from("no database at all ".repeat(100)) } }, "not a database"],
      [
        { parts: { "catalog.db": catalog, "usage.db": catalog }, more: { usage_schema: 1 } },
        "not a usage database",
      ],
      [{ parts: { "catalog.db": catalog }, more: { format_version: 2 } }, "newer lockport"],
    ];
    for (const [each, words] of cases) {
      await seal(each);
      const { code, data, messages } = await restore();
      expect({ code, data }).toMatchObject({ code: 78, data: "" });
      expect(messages).toContain(words);
      // The file that is restored is itself the backup.
      expect(messages).not.toContain("restore it from a backup");
      expect(messages.trim().split("\n")).toHaveLength(1);
      expect(existsSync(target)).toBe(false);
    }
  });

  test("is refused when its catalog or its ledger is of a newer version", async () => {
    const bytes = readFileSync(join(folder.data, "catalog.db"));
    const usage = new Database(join(folder.data, "usage.db"));
    usage.run(`PRAGMA application_id = ${APPLICATION_ID}`);
    usage.run("PRAGMA user_version = 99");
    usage.close();
    const newer = readFileSync(join(folder.data, "usage.db"));
    rmSync(join(folder.data, "usage.db"));
    await seal({ parts: { "catalog.db": bytes, "usage.db": newer }, more: { usage_schema: 99 } });
    expectNewer(await restore());

    const catalog = new Database(join(folder.data, "catalog.db"));
    catalog.run("INSERT INTO migration VALUES ('0099_later', 'x')");
    catalog.close();
    // This version refuses to make such a backup as well.
    expect((await run(`backup ${file} --with-secret-key`)).messages).toContain("newer version");
    await seal({ parts: { "catalog.db": readFileSync(join(folder.data, "catalog.db")) } });
    expectNewer(await restore());
  });
});

function expectNewer({ code, messages }: CliRun): void {
  expect(code).toBe(78);
  expect(messages).toMatch(/newer (version|lockport)/);
  // Not where it was unpacked to.
  expect(messages).not.toContain("restore-");
  expect(existsSync(target)).toBe(false);
}

async function expectRefusal(bytes: Uint8Array): Promise<void> {
  writeFileSync(file, bytes);
  const { code, data, messages } = await restore();
  expect({ code, data, messages }).toMatchObject({ code: 1, data: "" });
  expect(messages).toMatch(/^lockport: .*(damaged|no backup of lockport).*\.\n$/);
  expect(readdirSync(folder.path).sort()).toEqual(["backup.tar.zst", "data"]);
}

function everyNth(length: number, step: number): number[] {
  return Array.from({ length: Math.floor(length / step) }, (_, index) => index * step);
}

interface Sealed {
  readonly parts: Record<string, Uint8Array>;
  /** The manifest's parts; the truth unless said otherwise. */
  readonly claimed?: Record<string, Uint8Array>;
  readonly more?: Record<string, unknown>;
  readonly manifest?: string;
}

/** A backup with a seal that holds, of whatever is asked for. */
async function seal({ parts, claimed = parts, more = {}, manifest }: Sealed): Promise<void> {
  const head = Buffer.from(
    manifest ??
      JSON.stringify({
        format: "lockport-backup",
        format_version: 1,
        created_at: "2026-03-01T00:00:00.000000Z",
        interface_version: "1.0.0",
        catalog_schema: "0000_catalog",
        usage_schema: null,
        parts: Object.entries(claimed).map(([name, bytes]) => ({ name, size_bytes: bytes.length })),
        ...more,
      }),
  );
  const chunks: Uint8Array[] = [];
  const entries = Object.entries({ "manifest.json": head, ...parts });
  await writeArchive(
    entries.map(([name, content]) => ({ name, sizeBytes: content.length, content })),
    {
      modifiedAtSeconds: 0,
      write: async (bytes) => void chunks.push(bytes.slice()),
      onRead: () => undefined,
      signal: new AbortController().signal,
      toMac: () => null,
    },
  );
  writeFileSync(file, Buffer.concat(chunks));
}
