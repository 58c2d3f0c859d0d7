import { dirname } from "node:path";

/**
 * The commit of a checkout, as `166cc01b8e03`, or `166cc01b8e03-dirty` where files differ from it. Null where there is none: no
 * git, or sources without their history. A repository around the folder is another's.
 */
export function findCommit(root: string): string | null {
  return git(root, ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]);
}

/** The commit's time in seconds since the Unix epoch; null where the commit is not known. */
export function findCommittedAt(root: string): number | null {
  const seconds = git(root, ["log", "-1", "--format=%ct"]);
  return seconds === null ? null : Number(seconds);
}

function git(root: string, args: readonly string[]): string | null {
  if (Bun.which("git") === null) return null;
  const done = Bun.spawnSync({
    cmd: ["git", "-C", root, ...args],
    env: { ...process.env, GIT_CEILING_DIRECTORIES: dirname(root) },
    stdio: ["ignore", "pipe", "ignore"],
  });
  return done.exitCode === 0 ? done.stdout.toString().trim() : null;
}
