import { chownSync, existsSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { cleanEnvironment } from "./process.ts";
import { runFolder } from "./run-folder.ts";

/** Debian's places, then what the path holds. */
const BIN_FOLDERS = ["18", "17", "16", "15"].map((version) => `/usr/lib/postgresql/${version}/bin`);
const INITDB = Bun.which("initdb", { PATH: `${BIN_FOLDERS.join(":")}:${process.env["PATH"] ?? ""}` });

/** Where PostgreSQL's programs are; null: it is not installed. */
export const postgresPrograms = INITDB === null ? null : INITDB.slice(0, INITDB.lastIndexOf("/"));
export const SUPERUSER = "lockport";
/** `nobody`: PostgreSQL refuses to run as root. */
export const SERVER_UID = 65534;

/** A new data directory in a folder, as `initdb` makes it: that takes a second, so all servers of a run have copies of one. */
export function makeCluster(folder: string): string {
  const made = join(runFolder(), "postgres-cluster");
  if (!existsSync(made)) initialize(made);
  const data = join(folder, "data");
  runAsServer(["cp", "-R", "-p", made, data]);
  return data;
}

function initialize(made: string): void {
  const part = mkdtempSync(join(runFolder(), "initdb-"));
  giveToServer(part);
  const data = join(part, "data");
  runAsServer([
    `${postgresPrograms}/initdb`,
    `--pgdata=${data}`,
    `--username=${SUPERUSER}`,
    "--auth=trust",
    "--no-sync",
    "--encoding=UTF8",
    "--locale=C",
    // Less of a journal to copy than by default, which is 16 MB.
    "--wal-segsize=1",
  ]);
  try {
    renameSync(data, made);
  } catch (cause) {
    // Another process of the run has made it meanwhile.
    if (!existsSync(made)) throw cause;
  }
  rmSync(part, { recursive: true });
}

export function giveToServer(path: string): void {
  if (process.getuid?.() === 0) chownSync(path, SERVER_UID, SERVER_UID);
}

/** A test process that is killed takes its server along (PR_SET_PDEATHSIG), where the system has a way to say so. */
export function asServer(command: readonly string[]): string[] {
  if (Bun.which("setpriv") === null) return [...command];
  const become = [`--reuid=${SERVER_UID}`, `--regid=${SERVER_UID}`, "--clear-groups"];
  return ["setpriv", ...(process.getuid?.() === 0 ? become : []), "--pdeathsig=SIGQUIT", ...command];
}

function runAsServer(command: readonly string[]): void {
  const ran = Bun.spawnSync(asServer(command), { cwd: runFolder(), env: cleanEnvironment({}) });
  if (ran.exitCode !== 0) throw new Error(`${command[0]}: ${ran.stderr.toString()}`);
}
