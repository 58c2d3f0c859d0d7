import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import { claimSpool, releaseSpool, toHolder } from "#storage/postgres/ledger/spool-claim.ts";
import { findSpoolId, openSpoolFolder, toSpoolFolder } from "#storage/postgres/ledger/spool-folder.ts";
import { makeFolder } from "../../support/folder.ts";
import { postgresMissing } from "../../support/postgres.ts";
import { createDatabase, type TestDatabase } from "./support.ts";

const ids = createSystemIds();
const folders: { remove(): void }[] = [];
afterEach(() => {
  for (const folder of folders.splice(0)) folder.remove();
});

function makeDataDir(): string {
  const folder = makeFolder();
  folders.push(folder);
  return folder.path;
}

const NONE = { segment: 0, offsetBytes: 0 };

/** A sign of life of whoever holds the spool, between two looks. */
const speak = ({ postgres }: TestDatabase) =>
  postgres.run("UPDATE spool SET heard_at = heard_at + interval '1 second'");

async function refusalOf(attempt: Promise<unknown>): Promise<string> {
  return attempt.then(
    () => "claimed",
    (cause: unknown) =>
      cause instanceof SetupError ? `${cause.kind}: ${cause.message}` : `another error: ${String(cause)}`,
  );
}

describe("the folder of a spool", () => {
  test("has a random name, the same at every start, that only its owner reads", () => {
    const dataDir = makeDataDir();
    expect(findSpoolId(dataDir)).toBeNull();
    const id = openSpoolFolder(dataDir, ids);
    expect(id).toMatch(/^[0-9a-f]{32}$/);
    expect(openSpoolFolder(dataDir, ids)).toBe(id);
    expect(findSpoolId(dataDir)).toBe(id);
    const path = join(toSpoolFolder(dataDir), "spool-id");
    expect([statSync(toSpoolFolder(dataDir)).mode & 0o777, statSync(path).mode & 0o777]).toEqual([
      0o700, 0o600,
    ]);
    expect(openSpoolFolder(makeDataDir(), ids)).not.toBe(id);
  });

  test("that has lost its name and not its segments is refused: under a new name they would be counted a second time", () => {
    const dataDir = makeDataDir();
    openSpoolFolder(dataDir, ids);
    const [path, segment] = [
      join(toSpoolFolder(dataDir), "spool-id"),
      segmentPath(toSpoolFolder(dataDir), 7),
    ];
    writeFileSync(segment, "");
    rmSync(path);
    expect(() => openSpoolFolder(dataDir, ids)).toThrow("has lost its spool-id");
    expect(findSpoolId(dataDir)).toBeNull();
    rmSync(segment);
    expect(openSpoolFolder(dataDir, ids)).toMatch(/^[0-9a-f]{32}$/);
  });

  test("whose name is damaged is refused, and the file is left as it is", () => {
    const dataDir = makeDataDir();
    openSpoolFolder(dataDir, ids);
    const path = join(toSpoolFolder(dataDir), "spool-id");
    for (const text of ["", "0".repeat(31), `${"0".repeat(32)}0\n`, "x".repeat(32)]) {
      writeFileSync(path, text);
      expect(() => openSpoolFolder(dataDir, ids)).toThrow("is damaged");
      expect(readFileSync(path, "utf8")).toBe(text);
    }
    rmSync(path);
    expect(openSpoolFolder(dataDir, ids)).toMatch(/^[0-9a-f]{32}$/);
  });
});

describe.skipIf(postgresMissing !== null)("the claim of a spool", () => {
  test("gives each spool a lane of its own, for good, and each start the next run", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    const first = await claimSpool(postgres, { id: "a", holder: "host boot 1:1" });
    expect(first).toEqual({ lane: 1, run: 1, committed: NONE, isOvertaking: false });
    expect(await claimSpool(postgres, { id: "b", holder: "host boot 1:2" })).toMatchObject({
      lane: 2,
      run: 1,
    });
    await postgres.run(`UPDATE spool SET segment = 7, "offset" = 99 WHERE id = 'a'`);
    expect(await claimSpool(postgres, { id: "a", holder: "host boot 1:1" })).toEqual({
      lane: 1,
      run: 2,
      committed: { segment: 7, offsetBytes: 99 },
      isOvertaking: false,
    });
  });

  test("of a process that was killed is taken over at once by the next one with the same lock, whatever its host is called", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    await claimSpool(postgres, { id: "a", holder: "old-container boot 1:1" });
    const sleep = () => Promise.reject(new Error("it waited"));
    const next = await claimSpool(postgres, { id: "a", holder: "new-container boot 1:1", sleep });
    expect(next).toMatchObject({ run: 2, isOvertaking: false });
  });

  test("of another file on this machine is another's, also when both are first on their disk", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    const [one, other] = [toHolder("1:1"), toHolder("2:1")];
    await claimSpool(postgres, { id: "a", holder: one });
    const sleep = async () => void (await speak(database));
    expect(await refusalOf(claimSpool(postgres, { id: "a", holder: other, sleep }))).toContain("is held by");
    expect(await claimSpool(postgres, { id: "a", holder: one, sleep })).toMatchObject({ run: 2 });
  });

  test("that was released is taken over at once by another machine", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    await releaseSpool(postgres, await claimSpool(postgres, { id: "a", holder: "one boot-1 1:1" }));
    const sleep = () => Promise.reject(new Error("it waited"));
    const next = await claimSpool(postgres, { id: "a", holder: "two boot-2 1:1", sleep });
    expect(next).toMatchObject({ run: 2, isOvertaking: false });
  });

  test("is refused, and changes nothing, while a process with another lock is heard: it serves with a copy of the folder", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    await claimSpool(postgres, { id: "a", holder: "one boot-1 1:1" });
    const before = await postgres.all("SELECT lane, run, holder FROM spool");
    const sleep = async () => void (await speak(database));
    const refusal = await refusalOf(claimSpool(postgres, { id: "a", holder: "two boot-2 1:1", sleep }));
    expect(refusal).toStartWith(
      "configuration: This spool is held by a server on one: another process serves",
    );
    expect(await postgres.all("SELECT lane, run, holder FROM spool")).toEqual(before);
  });

  test("of another machine that has fallen silent is waited for some seconds and then taken over", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    const former = await claimSpool(postgres, { id: "a", holder: "one boot-1 1:1" });
    let waitedMs = 0;
    const sleep = (ms: number) => Promise.resolve(void (waitedMs += ms));
    const next = await claimSpool(postgres, { id: "a", holder: "two boot-2 1:1", sleep });
    expect(next).toMatchObject({ lane: former.lane, run: 2, isOvertaking: true });
    expect(waitedMs).toBeGreaterThanOrEqual(2_000);
    expect(waitedMs).toBeLessThanOrEqual(5_000);
    // Its end comes late, and is no longer its own.
    await releaseSpool(postgres, former);
    expect(await postgres.all("SELECT holder FROM spool")).toEqual([{ holder: "two boot-2 1:1" }]);
  });

  test("is refused while the replica of its lane is heard, though its writer is busy and holds the row", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    const { lane } = await claimSpool(postgres, { id: "a", holder: "one boot-1 1:1" });
    await postgres.run(
      `INSERT INTO replica (id, lane, name, applied, heartbeats, grace_ms, is_fenced, schema, version)
       VALUES (gen_random_uuid(), $1, 'one', 0, 1, 0, false, '', '')`,
      [lane],
    );
    const other = await database.open();
    await postgres.transaction(async (tx) => {
      await tx.run("UPDATE spool SET batch = batch + 1");
      const sleep = async () => void (await other.run("UPDATE replica SET heartbeats = heartbeats + 1"));
      expect(await refusalOf(claimSpool(other, { id: "a", holder: "two boot-2 1:1", sleep }))).toContain(
        "is held by",
      );
    });
  });

  test("by two processes with copies of one new folder gives one of them the lane and refuses the other", async () => {
    await using database = await createDatabase();
    const { postgres } = database;
    const sleep = async () => void (await speak(database));
    const both = ["one boot-1 1:1", "two boot-2 1:1"].map((holder) =>
      refusalOf(claimSpool(postgres, { id: "a", holder, sleep })),
    );
    const refusals = (await Promise.all(both)).filter((refusal) => refusal !== "claimed");
    expect(refusals).toHaveLength(1);
    expect(refusals[0]).toStartWith("configuration: This spool is held by");
    // A refused claim uses up the number it was offered, so the lane is 1 or 2.
    expect(await postgres.all("SELECT run FROM spool")).toEqual([{ run: 1 }]);
  });
});
