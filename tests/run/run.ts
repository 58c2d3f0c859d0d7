/**
 * Runs the tests: `bun tests/run/run.ts [--lint] [--all] [--set-up-clients] [--part NAME] [FOLDER or FILE ...]`. It builds the
 * executable once for all of them, shows what fails, a line for each folder, and the count as its last line. A part and paths
 * together run those paths in this part, whatever it has otherwise.
 */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { executable } from "../support/executable.ts";
import { makeRunFolder } from "../support/run-folder.ts";
import { findMemory } from "./memory.ts";
import { findFiles, PARTS, root, type Part } from "./parts.ts";
import { createResultReader, type Results } from "./results.ts";

const CACHE = join(root, "node_modules/.cache/tests");
/** The whole output of the run before this one. */
const LOG = join(CACHE, "output.txt");
/** Registries that are slow for longer than that are done without. */
const SET_UP_MS_MAX = 600_000;
/** Longer than any test takes on a loaded machine; those in a browser have a limit of their own. */
const TEST_MS_MAX = 60_000;

const LINTERS = [
  ["tsc", "-b", ".", "ui", "tests/browser", "tests/ui"],
  ["oxlint", "--type-aware", "--deny-warnings"],
  ["oxfmt", "--check"],
  ["knip"],
] as const;

const { values, positionals } = parseArgs({
  options: {
    lint: { type: "boolean", default: false },
    all: { type: "boolean", default: false },
    "set-up-clients": { type: "boolean", default: false },
    part: { type: "string" },
  },
  allowPositionals: true,
});
mkdirSync(CACHE, { recursive: true });
rmSync(LOG, { force: true });
const log = Bun.file(LOG).writer();
const wantedPart =
  values.part ?? (process.env["LOCKPORT_TEST_ENGINE"] === "postgres" ? "postgres" : undefined);
process.exitCode = await run();
await log.end();

async function run(): Promise<number> {
  // Mostly waits for registries, while the checks and the build have the cores.
  const clients = values["set-up-clients"] ? setUpClients() : Promise.resolve();
  const linting = values.lint ? lint() : Promise.resolve(true);
  const files = findFiles(positionals);
  const isNamed = wantedPart !== undefined && positionals.length > 0;
  const parts = PARTS.filter(isWanted)
    .map((part) => ({ part, files: isNamed ? files : files.filter((path) => part.has(path)) }))
    .filter((one) => one.files.length > 0);
  if (parts.length === 0) throw new Error(`no test stands in ${[values.part, ...positionals].join(" ")}`);
  const lanes = [0, 1].map((lane) => parts.filter(({ part }) => part.lane === lane));
  // Checks take what tests leave of the cores while they wait; two lanes leave nothing.
  const isAlone = lanes.some((lane) => lane.length === 0);
  if (!isAlone && !(await linting)) return end(0, 1);
  // Before anything counts against the time of a test.
  await timed("build", executable);
  // Beside tests it would take a core from promises with a time.
  await clients;
  const folder = makeRunFolder(findMemory() ?? tmpdir());
  const env = { LOCKPORT_TEST_RUN: folder, TMPDIR: makeTemporary(folder) };
  try {
    const runAll = async (some: typeof parts) => {
      const ended: Ended[] = [];
      for (const { part, files: paths } of some) {
        const workers = isAlone ? (part.workersAlone ?? part.workers) : part.workers;
        ended.push(await runPart(part, paths, { env, workers }));
      }
      return ended;
    };
    const ended = (await Promise.all(lanes.map(runAll))).flat();
    return report(ended, await linting);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Files that a test leaves behind go with the run. Open to everybody, as the system's own is: servers in it run as other users. */
function makeTemporary(folder: string): string {
  const path = join(folder, "tmp");
  mkdirSync(path);
  chmodSync(path, 0o1777);
  return path;
}

function isWanted({ name, isExtra }: Part): boolean {
  if (wantedPart !== undefined) return name === wantedPart;
  return !isExtra || values.all || (name !== "postgres" && positionals.length > 0);
}

async function setUpClients(): Promise<void> {
  const installation = Bun.spawn([process.execPath, "--no-env-file", "contrib/clients/set-up.ts"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
    timeout: SET_UP_MS_MAX,
  });
  if ((await installation.exited) !== 0)
    console.log("Not all clients could be installed: the tests of those that are missing are skipped.");
}

async function lint(): Promise<boolean> {
  const complaints = await timed("lint", () => Promise.all(LINTERS.map(runTool)));
  for (const complaint of complaints) if (complaint !== null) console.log(complaint);
  return complaints.every((complaint) => complaint === null);
}

/** The tool's complaint; null when it finds no fault. */
async function runTool([name, ...args]: readonly [string, ...string[]]): Promise<string | null> {
  const tool = Bun.spawn([join(root, "node_modules/.bin", name), ...args], {
    cwd: root,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [data, messages, code] = await Promise.all([
    new Response(tool.stdout).text(),
    new Response(tool.stderr).text(),
    tool.exited,
  ]);
  return code === 0 ? null : `\n${[name, ...args].join(" ")} fails:\n${data}${messages}`;
}

interface Ended {
  readonly part: Part;
  readonly results: Results;
  /** Files that could not be read, or whose process died. */
  readonly silent: readonly string[];
  readonly code: number;
}

/** Where a file has no figure yet the runner takes all of them by name: then larger files come before smaller ones. */
function guessTimings(path: string, { longest }: Part, files: readonly string[]): void {
  const toGuessMs = (file: string) => {
    const place = longest.indexOf(file.slice("tests/".length, -".test.ts".length));
    return place === -1 ? statSync(join(root, file)).size : 1_000_000 - place;
  };
  const guessed = Object.fromEntries(files.map((file) => [file, toGuessMs(file)]));
  const measured = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).files : {};
  writeFileSync(path, JSON.stringify({ version: 1, files: { ...guessed, ...measured } }));
}

async function runPart(
  part: Part,
  files: readonly string[],
  { env, workers }: { readonly env: Record<string, string>; readonly workers: number },
): Promise<Ended> {
  const timings = join(CACHE, `timings-${part.name}.json`);
  guessTimings(timings, part, files);
  const tests = Bun.spawn(
    [
      process.execPath,
      "test",
      `--parallel=${workers}`,
      ...(part.isIsolated ? [] : ["--no-isolate"]),
      `--retry=${part.retries}`,
      `--timeout=${TEST_MS_MAX}`,
      `--timings=${timings}`,
      "--update-timings",
      ...files.map((path) => `./${path}`),
    ],
    {
      cwd: root,
      env: {
        ...process.env,
        NO_COLOR: "1",
        ...env,
        ...(part.name === "postgres" && { LOCKPORT_TEST_ENGINE: "postgres" }),
      },
      stdin: "ignore",
      stdout: "ignore",
      stderr: "pipe",
    },
  );
  const reader = createResultReader();
  const started = performance.now();
  await eachLine(tests.stderr, (line) => {
    void log.write(`${line}\n`);
    for (const shown of reader.take(line)) console.log(shown);
  });
  const code = await tests.exited;
  const results = reader.end();
  for (const [folder, { passed, failed, skipped }] of results.folders) {
    const others = [failed > 0 ? `${failed} failed` : "", skipped > 0 ? `${skipped} skipped` : ""];
    console.log([folder.padEnd(20), `${passed} passed`, ...others].filter(Boolean).join("  "));
  }
  console.log(`${part.name}: ${toSeconds(performance.now() - started)}\n`);
  return { part, results, silent: files.filter((path) => !results.files.has(path)), code };
}

function report(ended: readonly Ended[], isClean: boolean): number {
  const all = ended.flatMap(({ results }) => [...results.folders.values()]);
  const sum = (key: keyof (typeof all)[number]) => all.reduce((total, one) => total + one[key], 0);
  // A file may be in two parts, of which one is on PostgreSQL.
  const toNames = ({ part }: Ended, names: readonly string[]) =>
    names.map((name) => (part.name === "postgres" ? `on PostgreSQL: ${name}` : name));
  const failed = ended.flatMap((one) => toNames(one, one.results.failed));
  const silent = ended.flatMap((one) => toNames(one, one.silent));
  for (const name of failed) console.log(`failed: ${name}`);
  for (const name of silent) console.log(`failed: ${name}, of which no test ran`);
  for (const name of ended.flatMap(({ results }) => results.retried))
    console.log(`passed when tried again: ${name}`);
  if (!isClean) console.log("failed: the checks");
  const count = failed.length + silent.length + (isClean ? 0 : 1);
  // An error beside every test, say.
  const broken = count === 0 && ended.some(({ code }) => code !== 0) ? 1 : 0;
  if (broken > 0) console.log(`the test runner failed: see ${LOG}`);
  if (sum("skipped") > 0) console.log(`${sum("skipped")} skipped: ${LOG} names them`);
  return end(sum("passed"), count + broken);
}

function end(passed: number, failed: number): number {
  console.log(`${passed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function timed<Made>(what: string, make: () => Promise<Made>): Promise<Made> {
  const started = performance.now();
  const made = await make();
  console.log(`${what}: ${toSeconds(performance.now() - started)}`);
  return made;
}

function toSeconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

async function eachLine(stream: ReadableStream<Uint8Array>, take: (line: string) => void): Promise<void> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of stream) {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) take(line);
  }
  if (rest !== "") take(rest);
}
