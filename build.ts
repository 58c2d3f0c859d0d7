/**
 * Makes the single executable: `npm run build` for this machine (dist/lockport), `npm run build -- --all` or
 * `--target linux-arm64` for others (dist/lockport-<target>), with what is inside and its licenses beside them
 * (dist/lockport.cdx.json, dist/lockport.licenses.txt). The same source gives the same bytes in any folder; `--version` tells
 * the commit of a checkout.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { makeBill } from "./contrib/build/bill.ts";
import { findCommit } from "./contrib/build/commit.ts";
import { checkBudget, toReport, toWeighed } from "./contrib/build/budget.ts";
import { encodeFiles, type EncodedFile } from "./contrib/build/file.ts";
import { embedPage } from "./contrib/build/embed.ts";
import { describeFailure, buildPage } from "./contrib/build/page.ts";

const root = import.meta.dir;
const runtimes = join(root, "contrib/runtimes");

/** Systems that are built for by name, with the package that carries their runtime. */
export const TARGETS = {
  "linux-x64": { compile: "bun-linux-x64", runtime: "@oven/bun-linux-x64/bin/bun" },
  "linux-arm64": { compile: "bun-linux-arm64", runtime: "@oven/bun-linux-aarch64/bin/bun" },
  "darwin-arm64": { compile: "bun-darwin-arm64", runtime: "@oven/bun-darwin-aarch64/bin/bun" },
  "linux-x64-musl": { compile: "bun-linux-x64-musl", runtime: "@oven/bun-linux-x64-musl/bin/bun" },
  "windows-x64": { compile: "bun-windows-x64", runtime: "@oven/bun-windows-x64/bin/bun.exe" },
} as const;

export type Target = keyof typeof TARGETS;

/** A Worker is started from a file of its own, so each is an entry beside the program. */
const ENTRIES = ["src/main.ts", ...new Bun.Glob("src/**/*-worker.ts").scanSync(root)].sort();

/**
 * How the program is cut into parts: a process reads those that it imports. In one file, everything was read twice at each
 * start of the server.
 */
export const PROGRAM = {
  entrypoints: ENTRIES.map((entry) => join(root, entry)),
  root,
  target: "bun",
  splitting: true,
  // A smaller part goes into one that is loaded with it: each has memory and pages of its own (0.4 MB in all of an idle server).
  minChunkSize: 2_048,
  format: "esm",
  // Beside each other, whatever their folders: a bundled file looks for `./x-worker.ts` where the executable's code lies.
  naming: { entry: "[name].[ext]" },
} as const satisfies Partial<Bun.BuildConfig>;

let builtPage: Promise<readonly EncodedFile[]> | null = null;

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      target: { type: "string", multiple: true, default: [] },
      all: { type: "boolean", default: false },
      outdir: { type: "string", default: join(root, "dist") },
    },
  });
  const outdir = resolve(values.outdir);
  // The names of the parts are hashes of paths as seen from here.
  process.chdir(root);
  const own = `${process.platform}-${process.arch}`;
  const targets = values.all ? Object.keys(TARGETS).filter((target) => target !== own) : values.target;
  const unknown = targets.find((target) => !isTarget(target));
  if (unknown !== undefined) {
    console.error(`unknown target ${unknown}: ${Object.keys(TARGETS).join(", ")}`);
    process.exit(2);
  }
  try {
    if (targets.length > 0) installRuntimes();
    console.log(toReport(await page()));
  } catch (failure) {
    console.error(describeFailure(failure));
    process.exit(1);
  }
  writeBill(outdir);
  const commit = findCommit(root);
  if (targets.length === 0 || values.all) report(await buildExecutable(join(outdir, "lockport"), { commit }));
  for (const target of targets.filter(isTarget)) {
    report(await buildExecutable(join(outdir, `lockport-${target}`), { target, commit }));
  }
}

export interface ExecutableOptions {
  /** This machine's own system when there is none. */
  readonly target?: Target;
  /** What `--version` tells; none when null. */
  readonly commit?: string | null;
}

/** Writes the executable, with the page in it, to `outfile` and returns its path; Windows adds `.exe`. Throws when the page cannot be built. */
export async function buildExecutable(
  outfile: string,
  { target, commit = null }: ExecutableOptions = {},
): Promise<string> {
  mkdirSync(join(outfile, ".."), { recursive: true });
  const path = target === "windows-x64" ? `${outfile}.exe` : outfile;
  const cross =
    target === undefined
      ? {}
      : {
          target: TARGETS[target].compile,
          executablePath: join(runtimes, "node_modules", TARGETS[target].runtime),
        };
  await Bun.build({
    ...PROGRAM,
    plugins: [embedPage(await page())],
    minify: true,
    bytecode: true,
    define: { LOCKPORT_COMMIT: JSON.stringify(commit) },
    // The files of whatever folder it is started in are none of its business.
    compile: { outfile: path, autoloadDotenv: false, autoloadBunfig: false, ...cross },
  });
  return path;
}

/** Beside the executables, which all hold the same: `lockport.cdx.json` (CycloneDX) and `lockport.licenses.txt`. */
function writeBill(outdir: string): void {
  const { json, licenses } = makeBill(root);
  mkdirSync(outdir, { recursive: true });
  writeFileSync(join(outdir, "lockport.cdx.json"), json);
  writeFileSync(join(outdir, "lockport.licenses.txt"), licenses);
}

/** The page for every executable of this process, built once. */
function page(): Promise<readonly EncodedFile[]> {
  return (builtPage ??= (async () => {
    const { files } = await buildPage();
    const encoded = await encodeFiles(files);
    checkBudget(toWeighed(encoded));
    return encoded;
  })());
}

/** Bun would fetch these from a place of its own; through its package manager they come from the configured registry. */
export function installRuntimes(): void {
  const install = Bun.spawnSync({
    cmd: [
      process.execPath,
      "install",
      "--frozen-lockfile",
      "--ignore-scripts",
      "--os=*",
      "--cpu=*",
      "--silent",
    ],
    cwd: runtimes,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (install.exitCode !== 0)
    throw new Error("The runtimes of other systems could not be installed (contrib/runtimes).");
}

function isTarget(text: string): text is Target {
  return Object.hasOwn(TARGETS, text);
}

function report(path: string): void {
  console.log(`${relative(process.cwd(), path)}  ${(Bun.file(path).size / 1e6).toFixed(0)} MB`);
}
