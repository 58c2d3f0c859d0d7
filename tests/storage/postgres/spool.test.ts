import { afterEach, describe, expect, test } from "bun:test";
import { readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { segmentPath } from "#storage/journal/segments.ts";
import {
  claimSpool,
  findSpoolId,
  openSpoolFolder,
  releaseSpool,
  toHolder,
  toSpoolFolder,
} from "#storage/replicas/spool.ts";
import { makeFolder } from "../../support/folder.ts";
import { postgresMissing } from "../../support/postgres.ts";
import { ADD_REPLICA, createDatabase } from "./support.ts";

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
  const [ONE, TWO] = ["one boot-1 1:1", "two boot-2 1:1"];
  const HELD = "configuration: This spool is held by a server on one: another process serves";

  async function createSpools() {
    const database = await createDatabase();
    const { postgres } = database;
    const sleeping = {
      none: () => Promise.reject(new Error("it waited")),
      // A sign of life of the holder between two polls.
      heard: async () =>
        void (await postgres.run("UPDATE spool SET heard_at = heard_at + interval '1 second'")),
    };
    return {
      ...database,
      claim: (holder: string, sleep: keyof typeof sleeping = "none", id = "a") =>
        claimSpool(postgres, { id, holder, sleep: sleeping[sleep] }),
    };
  }

  test("gives each spool a lane of its own, for good, and each start the next run", async () => {
    await using spools = await createSpools();
    expect(await spools.claim(ONE)).toEqual({ lane: 1, run: 1, committed: NONE, isOvertaking: false });
    expect(await spools.claim(TWO, "none", "b")).toMatchObject({ lane: 2, run: 1 });
    await spools.postgres.run(`UPDATE spool SET segment = 7, "offset" = 99 WHERE id = 'a'`);
    const committed = { segment: 7, offsetBytes: 99 };
    expect(await spools.claim(ONE)).toEqual({ lane: 1, run: 2, committed, isOvertaking: false });
  });

  test("of a process that was killed is taken over at once by the next one with the same lock, whatever its host is called", async () => {
    await using spools = await createSpools();
    await spools.claim("old-container boot 1:1");
    expect(await spools.claim("new-container boot 1:1")).toMatchObject({ run: 2, isOvertaking: false });
  });

  test("of another file on this machine is another's, also when both are first on their disk", async () => {
    await using spools = await createSpools();
    const [one, other] = [toHolder("1:1"), toHolder("2:1")];
    await spools.claim(one);
    expect(await refusalOf(spools.claim(other, "heard"))).toContain("is held by");
    expect(await spools.claim(one)).toMatchObject({ run: 2 });
  });

  test("that was released is taken over at once by another machine", async () => {
    await using spools = await createSpools();
    await releaseSpool(spools.postgres, await spools.claim(ONE));
    expect(await spools.claim(TWO)).toMatchObject({ run: 2, isOvertaking: false });
  });

  test("is refused, and changes nothing, while a process with another lock is heard: it serves with a copy of the folder", async () => {
    await using spools = await createSpools();
    await spools.claim(ONE);
    const read = () => spools.postgres.all("SELECT lane, run, holder FROM spool");
    const before = await read();
    expect(await refusalOf(spools.claim(TWO, "heard"))).toStartWith(HELD);
    expect(await read()).toEqual(before);
  });

  test("of another machine that has fallen silent is waited for some seconds and then taken over", async () => {
    await using spools = await createSpools();
    const { postgres } = spools;
    const former = await spools.claim(ONE);
    let waitedMs = 0;
    const sleep = (ms: number) => Promise.resolve(void (waitedMs += ms));
    const next = await claimSpool(postgres, { id: "a", holder: TWO, sleep });
    expect(next).toMatchObject({ lane: former.lane, run: 2, isOvertaking: true });
    expect(waitedMs).toBeWithin(2_000, 5_001);
    // Its end comes late, and is no longer its own.
    await releaseSpool(postgres, former);
    expect(await postgres.all("SELECT holder FROM spool")).toEqual([{ holder: TWO }]);
  });

  test("is refused while the replica of its lane is heard, though its writer is busy and holds the row", async () => {
    await using spools = await createSpools();
    const { postgres } = spools;
    const { lane } = await spools.claim(ONE);
    await postgres.run(ADD_REPLICA, [crypto.randomUUID(), lane]);
    const other = await spools.open();
    await postgres.transaction(async (tx) => {
      await tx.run("UPDATE spool SET batch = batch + 1");
      const sleep = async () => void (await other.run("UPDATE replica SET heartbeats = heartbeats + 1"));
      expect(await refusalOf(claimSpool(other, { id: "a", holder: TWO, sleep }))).toStartWith(HELD);
    });
  });

  test("by two processes with copies of one new folder gives one of them the lane and refuses the other", async () => {
    await using spools = await createSpools();
    const refusals = await Promise.all([ONE, TWO].map((holder) => refusalOf(spools.claim(holder, "heard"))));
    expect(refusals.toSorted()).toEqual(["claimed", expect.stringContaining("This spool is held by")]);
    // A refused claim uses up the number it was offered, so the lane is 1 or 2.
    expect(await spools.postgres.all("SELECT run FROM spool")).toEqual([{ run: 1 }]);
  });
});
