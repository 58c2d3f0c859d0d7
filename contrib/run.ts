/**
 * `bun contrib/run.ts [--all] [PROGRAM ARGUMENT …]`: installs from the lock file what is missing, then becomes PROGRAM.
 * Without `--all` that is what the server, its build and its demonstration need; with it also what checks and tests need.
 * It says a line when installing takes a while, and what the package manager said only when it fails. Imports nothing that
 * has to be installed.
 */
import { join } from "node:path";

const root = join(import.meta.dir, "..");
/** With everything installed it is over sooner than that. */
const QUIET_MS = 400;
/** Lines that are shown of what a failed installation says: one package that is not found is as good as two hundred. */
const FAILURE_LINES_MAX = 10;

const [first, ...others] = process.argv.slice(2);
const isAll = first === "--all";
const program = isAll ? others : process.argv.slice(2);

const code = await install();
if (code !== 0) process.exit(code);
if (program.length > 0) await become(program);

async function install(): Promise<number> {
  const child = Bun.spawn({
    cmd: [
      process.execPath,
      "install",
      "--frozen-lockfile",
      ...(isAll ? [] : ["--production"]),
      "--no-progress",
      "--no-summary",
    ],
    cwd: root,
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const timer = setTimeout(() => say("Installing packages from the lock file …"), QUIET_MS);
  const [output, messages, exitCode] = await Promise.all([
    child.stdout.text(),
    child.stderr.text(),
    child.exited,
  ]);
  clearTimeout(timer);
  if (exitCode !== 0) {
    const lines = `${output}${messages}`.split("\n").filter((line) => line.trim() !== "");
    const errors = lines.filter((line) => line.startsWith("error"));
    const said = (errors.length > 0 ? errors : lines).slice(0, FAILURE_LINES_MAX);
    say(
      [
        "The packages of the lock file could not be installed:",
        ...said.map((line) => `  ${line}`),
        ...(said.some((line) => line.includes("lockfile"))
          ? ["package.json asks for other packages than bun.lock: `npx -y bun@1.4.5 install` writes it anew."]
          : ["Check that the registry is reached (`npm config get registry`), and run it again."]),
      ].join("\n"),
    );
  }
  return exitCode;
}

/** `console.error` writes red on a terminal. */
function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** A child takes the place of a process that cannot replace itself (Windows). */
async function become(args: readonly string[]): Promise<void> {
  const command = [process.execPath, ...process.execArgv, ...args];
  if (process.platform !== "win32" && process.execve !== undefined)
    process.execve(process.execPath, command, process.env);
  process.on("SIGINT", () => undefined);
  const child = Bun.spawn({ cmd: command, stdio: ["inherit", "inherit", "inherit"] });
  process.exit(await child.exited);
}
