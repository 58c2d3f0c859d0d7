import { statfsSync } from "node:fs";
import { findExisting, findPermissionProblem, type Use } from "#boot/folder/permission-problem.ts";
import { SetupError } from "#kernel/errors.ts";
import { findCode, isDiskFull } from "#kernel/system-code.ts";

type CheckStatus = "ok" | "warn" | "fail";

/** One check's subject, finding, and for a `warn` or `fail` the advice. Never a secret. */
export interface Check {
  readonly name: string;
  readonly status: CheckStatus;
  readonly finding: string;
  readonly advice: string | null;
}

export function toOk(name: string, finding: string): Check {
  return { name, status: "ok", finding, advice: null };
}

export function toWarning(name: string, finding: string, advice: string): Check {
  return { name, status: "warn", finding, advice };
}

export function toFailure(name: string, finding: string, advice: string): Check {
  return { name, status: "fail", finding, advice };
}

/** SQLite needs this much beside a database to open it for reading (its -shm file). */
const ROOM_BYTES_MIN = 64 * 1024;

/** The files and folders that a check needs, and how it uses them. */
export interface Look {
  readonly name: string;
  readonly needs: readonly (readonly [path: string, use: Use])[];
  /** For what is neither a question of rights nor of room. */
  readonly advice: string;
}

/** The first thing that this user has no right to, as a finding; null when there is none. */
export function findRightsFailure({ name, needs }: Pick<Look, "name" | "needs">): Check | null {
  for (const [path, use] of needs) {
    const problem = findPermissionProblem(path, use);
    if (problem !== null) return toFailure(name, problem.finding, problem.advice);
  }
  return null;
}

/** Runs one check. Whatever it throws is its own finding, so that the others are made all the same. */
export async function standAlone(look: Look, check: () => Check | Promise<Check>): Promise<Check> {
  try {
    return await check();
  } catch (cause) {
    return toDiagnosis(look, cause);
  }
}

/** An error of a check as its finding: rights and room before anything that a backup would mend. */
export function toDiagnosis(look: Look, cause: unknown): Check {
  const refused = findRightsFailure(look);
  if (refused !== null) return refused;
  const { name, advice } = look;
  const [path] = look.needs[0] ?? [null];
  if (path === null) return toFailure(name, toFinding(cause), advice);
  if (isDiskFull(cause) || !hasRoom(path)) {
    return toFailure(name, `the disk of ${path} is full`, "Make room on it: until then nothing is recorded.");
  }
  const code = findCode(cause) ?? "";
  const known = KNOWN_CODES.find(({ prefix }) => code.startsWith(prefix));
  if (known !== undefined) return toFailure(name, `${path} ${known.finding} (${code})`, known.advice);
  return toFailure(name, toFinding(cause), advice);
}

const KNOWN_CODES = [
  {
    prefix: "SQLITE_BUSY",
    finding: "is locked by another process",
    advice: "Stop that process, or look again in a moment.",
  },
  {
    prefix: "SQLITE_IOERR",
    finding: "cannot be read: the disk fails",
    advice: "Look into the log of the system (dmesg) before anything else is done to this disk.",
  },
  {
    prefix: "EIO",
    finding: "cannot be read: the disk fails",
    advice: "Look into the log of the system (dmesg) before anything else is done to this disk.",
  },
  {
    prefix: "EMFILE",
    finding: "cannot be opened: this process may open no more files",
    advice: "Raise the limit (ulimit -n).",
  },
] as const;

function hasRoom(path: string): boolean {
  try {
    const { bavail, bsize, blocks } = statfsSync(findExisting(path));
    // A file system without a size (some networks' ones) does not tell.
    return blocks === 0 || bavail * bsize >= ROOM_BYTES_MIN;
  } catch {
    return true;
  }
}

function toFinding(cause: unknown): string {
  if (cause instanceof SetupError) return cause.message;
  const name = cause instanceof Error ? cause.name : typeof cause;
  const code = findCode(cause);
  return `it could not be looked at (${code ?? name})`;
}
