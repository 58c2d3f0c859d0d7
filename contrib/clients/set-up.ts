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
/** What pip, bun and their HTTP clients say when nobody answers. */
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

let failures = 0;
for (const group of GROUPS) {
  if (isInstalled(group.name)) continue;
  const { kind, why } = install(group, group.name);
  console.log(`${group.name}: ${kind}${why === null ? "" : `: ${why}`}`);
  if (kind === "failed") failures += 1;
}
process.exit(failures === 0 ? 0 : 1);

function install(group: ClientGroup, name: GroupName): Result {
  const folder = toGroupFolder(name);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
  cpSync(toManifestFolder(name), folder, { recursive: true });
  const unable = group.kind === "python" ? findPythonObstacle(group) : null;
  if (unable !== null) return { kind: "skipped", why: unable };
  const { code, output } = group.kind === "python" ? installPython(folder) : installJavaScript(folder);
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
function findPythonObstacle({ python }: ClientGroup): string | null {
  const asked = attempt(["python3", "-c", "import sys; print(*sys.version_info[:2])"]);
  if (asked.code !== 0) return "there is no python3 on this machine (Debian: apt-get install python3-venv)";
  const version = asked.output.trim().split(" ").map(Number);
  if (python !== undefined) {
    const [from, below] = python;
    if (compare(version, from) < 0 || compare(version, below) >= 0) {
      return `it needs Python ${from.join(".")} or later, below ${below.join(".")}; here is ${version.join(".")}`;
    }
  }
  // Debian keeps this module in a package of its own.
  return attempt(["python3", "-c", "import ensurepip, venv"]).code === 0
    ? null
    : "python3 has no venv here (Debian: apt-get install python3-venv)";
}

function compare(version: readonly number[], bound: readonly [number, number]): number {
  return (version[0] ?? 0) - bound[0] || (version[1] ?? 0) - bound[1];
}

function installPython(folder: string): Attempt {
  const made = attempt(["python3", "-m", "venv", join(folder, "venv")]);
  if (made.code !== 0) return made;
  const pip = [join(folder, "venv/bin/python"), "-m", "pip", "install", "--quiet", "--no-input"];
  const bounds = ["--disable-pip-version-check", "--retries", "2", "--timeout", "20"];
  // Wheels only: nothing of a package runs before a test runs it.
  return attempt([...pip, ...bounds, "--only-binary=:all:", "-r", join(folder, "requirements.txt")]);
}

function installJavaScript(folder: string): Attempt {
  return attempt([process.execPath, "install", "--frozen-lockfile", "--ignore-scripts"], folder);
}

function attempt(cmd: readonly string[], cwd?: string): Attempt {
  try {
    const done = Bun.spawnSync({
      cmd: [...cmd],
      ...(cwd === undefined ? {} : { cwd }),
      stdout: "pipe",
      stderr: "pipe",
      stdin: "ignore",
      timeout: INSTALL_MS_MAX,
    });
    return { code: done.exitCode ?? 1, output: `${done.stdout.toString()}${done.stderr.toString()}` };
  } catch (error) {
    // The program is not there.
    return { code: 127, output: String(error) };
  }
}
