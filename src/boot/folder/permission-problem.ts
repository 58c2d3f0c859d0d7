import { accessSync, constants, statSync } from "node:fs";
import { dirname, parse } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import { isDiskFull, isRightsCode, systemCode } from "#kernel/system-code.ts";

const { R_OK, W_OK, X_OK } = constants;
const OWN = "change its owner (chown) or mode (chmod)";
/** The uses of a file or folder, with the words for each. */
const USES = {
  read: { mode: R_OK, words: "read", change: OWN },
  change: { mode: R_OK | W_OK, words: "read and write", change: OWN },
  keep: { mode: R_OK | W_OK | X_OK, words: "read and write", change: OWN },
  run: { mode: X_OK, words: "run", change: OWN },
  // Folders that are not ours, as /root is not: their owner and mode are not to be changed for us.
  enter: { mode: X_OK, words: "enter", change: "choose another place" },
  fill: { mode: W_OK | X_OK, words: "write into", change: "choose another place" },
} as const;

/** `read`, `change` and `run` a file; `enter`, `fill` (make files in) and `keep` (list as well) a folder. */
export type Use = keyof typeof USES;

/** A file or folder that this user may not use so, in words: what and whose it is, and what to do. */
interface PermissionProblem {
  readonly path: string;
  readonly finding: string;
  readonly advice: string;
}

/**
 * The first folder on the way to `path`, or `path` itself, that this user has no right to; null when there is none. A code
 * of the system alone does not tell which it was. A path that does not exist is no permission problem. Changes nothing.
 */
export function findPermissionProblem(path: string, use: Use): PermissionProblem | null {
  for (const folder of listAncestors(path)) {
    // A file in the way is no question of rights.
    if (isFile(folder)) return null;
    const refusal = findRefusal(folder, "enter");
    if (refusal !== null) return toPermissionProblem(folder, "enter", refusal);
  }
  const refusal = findRefusal(path, use);
  return refusal === null ? null : toPermissionProblem(path, use, refusal);
}

/** Throws a `SetupError` (exit code 77) that begins with `task` when this user has no right to `path`. */
export function requireRight(path: string, use: Use, task: string): void {
  const problem = findPermissionProblem(path, use);
  if (problem === null) return;
  throw new SetupError("permission", `${task}: ${problem.finding}. ${problem.advice}`);
}

interface FileTask {
  /** The file or folder that was written or read. */
  readonly path: string;
  readonly use: Use;
  /** Begins the sentence: `The backup /b cannot be written`. */
  readonly task: string;
  /** The error's kind when no right is missing: `configuration` for what the settings name. Default: `failure`. */
  readonly kind?: "failure" | "configuration";
}

/**
 * An error of the file system as a `SetupError`: `permission` for a missing right, to the path or to making it in its
 * folder, else the kind of the task. What did not come from the file system is returned as it is.
 */
export function toFileError(cause: unknown, { path, use, task, kind = "failure" }: FileTask): unknown {
  const folder = findExisting(use === "read" || use === "change" ? dirname(path) : path);
  if (isDiskFull(cause)) {
    const sentence = `${task}: the disk of ${folder} is full. Make room, or choose another disk.`;
    return new SetupError(kind, sentence, cause);
  }
  if (systemCode(cause) === "ENAMETOOLONG") {
    return new SetupError(kind, `${task}: the path is too long. Choose a shorter one.`, cause);
  }
  if (!(cause instanceof Error && "syscall" in cause)) return cause;
  const isMade = use === "change" || use === "keep";
  const problem = findPermissionProblem(path, use) ?? (isMade ? findPermissionProblem(folder, "fill") : null);
  if (problem !== null) {
    return new SetupError("permission", `${task}: ${problem.finding}. ${problem.advice}`, cause);
  }
  const code = systemCode(cause);
  const sentence = `${task}: the system answers ${code ?? "without a reason"}. Check its folder and its disk.`;
  return new SetupError(isRightsCode(code) ? "permission" : kind, sentence, cause);
}

/** The nearest folder on the way to `path` that exists, `path` itself included. */
export function findExisting(path: string): string {
  return [path, ...listAncestors(path).toReversed()].find(exists) ?? parse(path).root;
}

/** From the root on, `path` itself left out. */
function listAncestors(path: string): string[] {
  const found: string[] = [];
  for (let at = dirname(path); at !== found[0]; at = dirname(at)) found.unshift(at);
  return found;
}

function exists(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false;
  } catch {
    return false;
  }
}

function findRefusal(path: string, use: Use): string | null {
  try {
    accessSync(path, USES[use].mode);
    return null;
  } catch (cause) {
    const code = systemCode(cause);
    return isRightsCode(code) ? code : null;
  }
}

function toPermissionProblem(path: string, use: Use, code: string): PermissionProblem {
  if (code === "EROFS") {
    const advice = "Mount it for writing, or choose a place on another disk.";
    return { path, finding: `${path} is on a disk that is mounted read-only`, advice };
  }
  const { uid: ownerUid, mode } = statSync(path);
  const uid = process.getuid?.() ?? null;
  const refused = `this user${uid === null ? "" : ` (uid ${uid})`} may not ${USES[use].words} ${path}`;
  const modeText = (mode & 0o777).toString(8).padStart(3, "0");
  if (uid === null) return { path, finding: refused, advice: `Give this user access to ${path}.` };
  if (uid === ownerUid) {
    const advice = `Change its mode: chmod u+${use === "read" ? "r" : "rwX"} ${path}`;
    return { path, finding: `${refused}: its own, with mode ${modeText}`, advice };
  }
  return {
    path,
    finding: `${refused}: owner uid ${ownerUid}, mode ${modeText}`,
    advice: `Run as its owner (sudo -u '#${ownerUid}' …), or ${USES[use].change}.`,
  };
}
