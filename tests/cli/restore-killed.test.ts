import { beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { move, writeMark } from "#boot/folder/half-restore.ts";
import { lockDataFolder } from "#storage/files/folder-lock.ts";
import { startApp } from "../support/app.ts";
import { useFolder } from "../support/folder.ts";
import { runLocal, type CliInput } from "./terminal.ts";

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
