/**
 * Installs the clients that the tests run against the executable: `bun contrib/clients/set-up.ts`. Those whose registry
 * is not reached are left out with a notice, and their tests are skipped; any other failure ends with exit code 1.
 */
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  GROUPS,
  isInstalled,
  toGroupFolder,
  toManifestFolder,
  toStamp,
  toStampFile,
  type ClientGroup,
  type GroupName,
} from "./groups.ts";

const INSTALL_MS_MAX = 480_000;
/** Messages of pip, bun and their HTTP clients when a registry does not answer. */
const UNREACHED =
  /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ConnectionRefused|ConnectionClosed|FailedToOpenSocket|getaddrinfo|Temporary failure in name resolution|Failed to establish a new connection|Connection to .* timed out|Read timed out|ConnectTimeout|DNSResolveFailed|Timeout: GET|GET .* - (403|407|5\d\d)/i;

interface Attempt {
  readonly code: number;
  readonly output: string;
}

interface Result {
  readonly kind: "installed" | "skipped" | "failed";
  /** Null for what is installed. */
  readonly why: string | null;
}

// Side by side: most of an installation is waiting for its registry.
const kinds = await Promise.all(
  GROUPS.filter(({ name }) => !isInstalled(name)).map(async (group) => {
    const { kind, why } = await install(group, group.name);
    console.log(`${group.name}: ${kind}${why === null ? "" : `: ${why}`}`);
    return kind;
  }),
);
process.exit(kinds.includes("failed") ? 1 : 0);

async function install(group: ClientGroup, name: GroupName): Promise<Result> {
  const folder = toGroupFolder(name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(toManifestFolder(name), folder, { recursive: true });
  const unable = group.kind === "python" ? await findPythonObstacle(group) : null;
  if (unable !== null) return { kind: "skipped", why: unable };
  const { code, output } = await (group.kind === "python"
    ? installPython(folder)
    : installJavaScript(folder));
  if (code === 0) {
    writeFileSync(toStampFile(name), toStamp(name));
    return { kind: "installed", why: null };
  }
  const lines = output.trim().split("\n");
  return UNREACHED.test(output)
    ? { kind: "skipped", why: `its registry is not reached (${lines.at(-1) ?? ""})` }
    : { kind: "failed", why: lines.slice(-10).join("\n  ") };
}

/** Why this machine cannot make a place for Python packages, or null. */
async function findPythonObstacle({ python }: ClientGroup): Promise<string | null> {
  const asked = await attempt(["python3", "-c", "import sys; print(*sys.version_info[:2])"]);
  if (asked.code !== 0) return "there is no python3 on this machine (Debian: apt-get install python3-venv)";
  const version = asked.output.trim().split(" ").map(Number);
  if (python !== undefined) {
    const [from, below] = python;
    if (compare(version, from) < 0 || compare(version, below) >= 0) {
      return `it needs Python ${from.join(".")} or later, below ${below.join(".")}; here is ${version.join(".")}`;
    }
  }
  // Debian keeps this module in a package of its own.
  const { code } = await attempt(["python3", "-c", "import ensurepip, venv"]);
  return code === 0 ? null : "python3 has no venv here (Debian: apt-get install python3-venv)";
}

function compare(version: readonly number[], bound: readonly [number, number]): number {
  return (version[0] ?? 0) - bound[0] || (version[1] ?? 0) - bound[1];
}

async function installPython(folder: string): Promise<Attempt> {
  const made = await attempt(["python3", "-m", "venv", join(folder, "venv")]);
  if (made.code !== 0) return made;
  const pip = [join(folder, "venv/bin/python"), "-m", "pip", "install", "--quiet", "--no-input"];
  const bounds = ["--disable-pip-version-check", "--retries", "2", "--timeout", "20"];
  // The file names every package, so nothing is left to resolve; what is never imported need not be compiled.
  const exact = ["--no-deps", "--no-compile"];
  // Wheels only: nothing of a package runs before a test runs it.
  const wheels = ["--only-binary=:all:", "-r", join(folder, "requirements.txt")];
  return attempt([...pip, ...bounds, ...exact, ...wheels]);
}

function installJavaScript(folder: string): Promise<Attempt> {
  return attempt([process.execPath, "install", "--frozen-lockfile", "--ignore-scripts"], folder);
}

async function attempt(cmd: readonly string[], cwd?: string): Promise<Attempt> {
  try {
    const child = Bun.spawn({
      cmd: [...cmd],
      ...(cwd === undefined ? {} : { cwd }),
      stdout: "pipe",
      stderr: "pipe",
      stdin: "ignore",
      timeout: INSTALL_MS_MAX,
    });
    const [data, messages, code] = await Promise.all([
      child.stdout.text(),
      child.stderr.text(),
      child.exited,
    ]);
    return { code, output: `${data}${messages}` };
  } catch (error) {
    // The program is not there.
    return { code: 127, output: String(error) };
  }
}
