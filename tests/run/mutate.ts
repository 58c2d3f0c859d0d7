/**
 * Changes lines of the source, one at a time, and tells which changes no test notices:
 * `bun tests/run/mutate.ts [--count 200] [--seed 7] [--out FILE] [--again FILE] [ROOM ...]`.
 * It works in a copy of the last commit. `--again` makes the changes that a run before has written with `--out`, as far as
 * their lines still stand. A change that no behavior depends on is never noticed: what is left is read by a person.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "./parts.ts";

/** What each room's lines are tested by: its own folder first, then where it is used. */
const TESTS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  forward: [["forward"], ["http", "faults", "abuse"]],
  usage: [["usage"], ["oracle", "http", "ledger"]],
  limits: [["limits"], ["http", "ledger"]],
  catalog: [["catalog"], ["http", "interchange", "storage"]],
  identity: [["identity"], ["http", "storage"]],
  storage: [["storage"], ["ledger", "oracle", "replicas", "limits"], ["http", "cli"]],
};
/** The limit of one stage of tests. A change that makes a test hang is noticed by it. */
const STAGE_MS_MAX = 300_000;
const TEST_MS_MAX = 60_000;

const CHANGES: readonly (readonly [RegExp, string])[] = [
  [/ === /, " !== "],
  [/ !== /, " === "],
  [/ <= /, " < "],
  [/ >= /, " > "],
  [/ < /, " <= "],
  [/ > /, " >= "],
  [/ && /, " || "],
  [/ \|\| /, " && "],
  [/ \?\? /, " && "],
  [/ \+ (?=[\w(])/, " - "],
  [/ - (?=[\w(])/, " + "],
  [/ \* (?=[\w(])/, " / "],
  [/\btrue\b/, "false"],
  [/\bfalse\b/, "true"],
  [/\bif \((?!!\()(.*)\) (?=\S)/, "if (!($1)) "],
  [/^\s*(?:await )?[\w.#]+\(.*\);$/, ""],
];

interface Mutation {
  readonly path: string;
  readonly line: string;
  readonly changed: string;
  caught?: boolean | null;
}

const { values, positionals } = parseArgs({
  options: {
    count: { type: "string", default: "200" },
    seed: { type: "string", default: "7" },
    out: { type: "string" },
    again: { type: "string" },
  },
  allowPositionals: true,
});
const rooms = positionals.length > 0 ? positionals : Object.keys(TESTS);
const copy = mkdtempSync(join(tmpdir(), "lockport-mutations-"));
try {
  await runTool(["git", "clone", "--quiet", "--no-hardlinks", root, copy], root);
  symlinkSync(join(root, "node_modules"), join(copy, "node_modules"));
  cpSync(join(root, "dist"), join(copy, "dist"), { recursive: true });
  const mutations = values.again === undefined ? choose() : readAgain(values.again);
  for (const mutation of mutations) {
    mutation.caught = await isCaught(mutation);
    const told = mutation.caught === null ? "gone" : mutation.caught ? "caught" : "MISSED";
    console.log(`${told}  ${mutation.path}: ${mutation.line.trim()}  ->  ${mutation.changed.trim()}`);
    if (values.out !== undefined) writeFileSync(values.out, JSON.stringify(mutations, null, 1));
  }
  const count = (caught: boolean | null) => mutations.filter((one) => one.caught === caught).length;
  console.log(`${count(true)} caught, ${count(false)} missed, ${count(null)} gone`);
} finally {
  rmSync(copy, { recursive: true, force: true });
}

/** As many lines as asked for, each as likely as any other of these rooms that can be changed. */
function choose(): Mutation[] {
  const random = createRandom(Number(values.seed));
  const places = rooms.flatMap((room) =>
    [...new Bun.Glob(`src/${room}/**/*.ts`).scanSync(copy)].toSorted().flatMap((path) =>
      readLines(path)
        .filter((line) => toChanges(line).length > 0)
        .map((line) => ({ path, line })),
    ),
  );
  return Array.from({ length: Number(values.count) }, () => {
    const [place] = places.splice(Math.floor(random() * places.length), 1);
    if (place === undefined) throw new Error("these rooms have fewer lines that can be changed");
    const changes = toChanges(place.line);
    return { ...place, changed: changes[Math.floor(random() * changes.length)] ?? "" };
  });
}

function toChanges(line: string): readonly string[] {
  if (/^\s*(?:\/\/|\/?\*|import |export (?:type|interface) |(?:type|interface) |readonly )/.test(line))
    return [];
  return CHANGES.filter(([pattern]) => pattern.test(line)).map(([pattern, by]) => line.replace(pattern, by));
}

function readAgain(path: string): Mutation[] {
  const before: readonly Mutation[] = JSON.parse(readFileSync(path, "utf8"));
  return before.map(({ path: file, line, changed }) => ({ path: file, line, changed }));
}

/** Whether a test fails with it; null where its line does not stand any more, here or in a file that it was moved to. */
async function isCaught({ path, line, changed }: Mutation): Promise<boolean | null> {
  const place = findPlace(path, line);
  if (place === null) return null;
  const file = join(copy, place.path);
  const before = readFileSync(file, "utf8");
  const lines = before.split("\n");
  // Indentation may have moved with the line.
  lines[place.index] = changed.trim();
  writeFileSync(file, lines.join("\n"));
  try {
    for (const folders of TESTS[toRoom(place.path)] ?? [])
      if (!(await passes(folders.map((folder) => `./tests/${folder}`)))) return true;
    return false;
  } finally {
    writeFileSync(file, before);
  }
}

function findPlace(path: string, line: string): { readonly path: string; readonly index: number } | null {
  const others = rooms.flatMap((room) => [...new Bun.Glob(`src/${room}/**/*.ts`).scanSync(copy)].toSorted());
  for (const candidate of [path, ...others.filter((other) => toRoom(other) === toRoom(path))]) {
    if (!others.includes(candidate)) continue;
    const index = readLines(candidate).findIndex((other) => other.trim() === line.trim());
    if (index !== -1) return { path: candidate, index };
  }
  return null;
}

async function passes(folders: readonly string[]): Promise<boolean> {
  const args = ["test", "--parallel=2", "--no-isolate", "--bail", `--timeout=${TEST_MS_MAX}`, ...folders];
  const tests = Bun.spawn([process.execPath, ...args], {
    cwd: copy,
    stdin: "ignore",
    stdout: "ignore",
    stderr: "ignore",
    timeout: STAGE_MS_MAX,
    killSignal: "SIGKILL",
  });
  return (await tests.exited) === 0;
}

async function runTool(command: readonly string[], cwd: string): Promise<void> {
  const tool = Bun.spawn([...command], { cwd, stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  if ((await tool.exited) !== 0) throw new Error(`${command.join(" ")} failed`);
}

function readLines(path: string): readonly string[] {
  return readFileSync(join(copy, path), "utf8").split("\n");
}

function toRoom(path: string): string {
  return path.split("/")[1] ?? "";
}

/** mulberry32: the same lines for the same seed. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
