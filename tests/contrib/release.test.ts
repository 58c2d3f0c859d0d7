import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { unzipSync } from "fflate";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { TARGETS, type Target } from "../../build.ts";
import { findCommit, findCommittedAt } from "../../contrib/build/commit.ts";
import { findNotes, isUnreleased, makeRelease } from "../../contrib/release/release.ts";
import manifest from "../../package.json" with { type: "json" };
import runtimes from "../../contrib/runtimes/package.json" with { type: "json" };
import { makeFolder } from "../support/folder.ts";
import { runProcess } from "../support/process.ts";

let folder: ReturnType<typeof makeFolder>;
beforeEach(() => {
  folder = makeFolder();
});
afterEach(() => folder.remove());

const NAME = `lockport-${manifest.version}`;
const COMMITTED_AT = Date.UTC(2026, 10, 23, 8, 0) / 1000;

describe("a release", () => {
  const release = async (outdir: string, targets: readonly Target[]) => {
    const lines: string[] = [];
    const files = await makeRelease({
      outdir,
      targets,
      // Not compressed to nothing, and not the same for two systems.
      build: async (outfile, target) => {
        writeFileSync(outfile, `#!/bin/sh\necho ${target}\n`);
        return outfile;
      },
      modifiedAtSeconds: COMMITTED_AT,
      report: (line) => lines.push(line),
    });
    return { files, lines };
  };
  const targets = ["linux-x64", "windows-x64"] as const;

  test("has an archive for each system, the bill, the notes and their sums, and nothing of a former one", async () => {
    const outdir = join(folder.path, "out");
    mkdirSync(outdir);
    writeFileSync(join(outdir, "lockport-0.0.9-linux-x64.tar.gz"), "old");
    writeFileSync(join(outdir, "thesis.tex"), "not of a release");
    const { files, lines } = await release(outdir, targets);
    expect(files).toEqual([
      "NOTES.md",
      `${NAME}-linux-x64.tar.gz`,
      `${NAME}-windows-x64.zip`,
      `${NAME}.cdx.json`,
      "SHA256SUMS",
    ]);
    expect(lines).toHaveLength(targets.length);
    expect(readdirSync(outdir).toSorted()).toEqual([...files, "thesis.tex"].toSorted());
    const sums = readFileSync(join(outdir, "SHA256SUMS"), "utf8").trim().split("\n");
    expect(sums.map((line) => line.split("  ")[1])).toEqual(files.slice(0, -1));
    for (const line of sums) {
      const [sum = "", file = ""] = line.split("  ");
      const bytes = readFileSync(join(outdir, file));
      expect(new Bun.CryptoHasher("sha256").update(bytes).digest("hex")).toBe(sum);
    }
    expect(JSON.parse(readFileSync(join(outdir, `${NAME}.cdx.json`), "utf8"))).toMatchObject({
      bomFormat: "CycloneDX",
    });
    const changelog = readFileSync(join(import.meta.dir, "../../CHANGELOG.md"), "utf8");
    expect(readFileSync(join(outdir, "NOTES.md"), "utf8")).toContain(findNotes(changelog, manifest.version));
  });

  test("unpacks to one folder with the executable, its license and those of what is inside", async () => {
    const outdir = join(folder.path, "out");
    await release(outdir, targets);
    const archive = join(outdir, `${NAME}-linux-x64.tar.gz`);
    expect((await runProcess(["tar", "-xzf", archive], { cwd: folder.path })).code).toBe(0);
    const unpacked = join(folder.path, `${NAME}-linux-x64`);
    expect((await runProcess([join(unpacked, "lockport")])).data).toBe("linux-x64\n");
    const names = ["LICENSE", "lockport.licenses.txt", "lockport.cdx.json"];
    for (const name of names) expect(readFileSync(join(unpacked, name), "utf8").length).toBeGreaterThan(1000);

    const zipped = unzipSync(readFileSync(join(outdir, `${NAME}-windows-x64.zip`)));
    expect(Object.keys(zipped)).toEqual(
      ["lockport.exe", ...names].map((name) => `${NAME}-windows-x64/${name}`),
    );
    expect(new TextDecoder().decode(zipped[`${NAME}-windows-x64/lockport.exe`])).toContain("windows-x64");
  });

  test("of the same sources is the same bytes", async () => {
    const sumsOf = async (name: string) => {
      await release(join(folder.path, name), targets);
      return readFileSync(join(folder.path, name, "SHA256SUMS"), "utf8");
    };
    expect(await sumsOf("one")).toBe(await sumsOf("two"));
  });
});

test("every system that is built for has its runtime pinned, in the version that builds", () => {
  const packages = Object.values(TARGETS).map(({ runtime }) => runtime.split("/").slice(0, 2).join("/"));
  expect(Object.keys(runtimes.dependencies).toSorted()).toEqual(packages.toSorted());
  for (const version of Object.values(runtimes.dependencies)) expect(version).toBe(Bun.version);
});

test("notes are what the changelog says of that version alone, and there are none of a version that it does not name", () => {
  const changelog = "# Changelog\n\n## 1.1.0 (unreleased)\n\n- two\n\n## 1.0.0\n\n- one\n";
  expect(findNotes(changelog, "1.1.0")).toBe("- two");
  expect(findNotes(changelog, "1.0.0")).toBe("- one");
  expect(() => findNotes(changelog, "1.0")).toThrow("says nothing of 1.0");
  expect([isUnreleased(changelog, "1.1.0"), isUnreleased(changelog, "1.0.0")]).toEqual([true, false]);
});

test("the commit is that of the checkout itself, says when files differ from it, and there is none without", async () => {
  const inner = join(folder.path, "inner");
  mkdirSync(inner);
  const git = (...args: string[]) =>
    runProcess(["git", "-c", "user.name=a", "-c", "user.email=a@example.org", ...args], { cwd: folder.path });
  writeFileSync(join(folder.path, "file"), "one");
  expect([findCommit(folder.path), findCommittedAt(folder.path)]).toEqual([null, null]);
  await git("init", "-q");
  await git("add", "file");
  await git("commit", "-q", "-m", "one");
  const commit = findCommit(folder.path);
  expect(commit).toMatch(/^[0-9a-f]{12}$/);
  expect(Math.abs((findCommittedAt(folder.path) ?? 0) - Date.now() / 1000)).toBeLessThan(60);
  expect(findCommit(inner)).toBeNull();
  writeFileSync(join(folder.path, "file"), "two");
  expect(findCommit(folder.path)).toBe(`${commit}-dirty`);
});
