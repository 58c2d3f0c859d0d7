import { closeSync, fsyncSync, readFileSync, unlinkSync, writeSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { SetupError } from "#kernel/errors.ts";
import type { Ids } from "#kernel/ids.ts";
import { systemCode } from "#kernel/system-code.ts";
import { withSetupErrors } from "#storage/files/setup-errors.ts";
import { sleep } from "#kernel/timer.ts";
import { SPOOL_NAME } from "#storage/files/data-files.ts";
import type { WatchedFile } from "#storage/files/file-watch.ts";
import { openPrivateFile, putAside } from "#storage/files/private-file.ts";
import { syncFolderNow } from "#storage/files/sync-folder.ts";
import { ensureJournalFolder, findSegments, type JournalPosition } from "#storage/journal/segments.ts";
import type { Sql } from "#storage/postgres/connection/pool.ts";
import type { Postgres } from "#storage/postgres/connection/postgres.ts";

/** A server says twice a second that it is there: one that stays silent for so long has ended, or has lost the database. */
const SILENCE_MS = 4_000;
const POLL_INTERVAL_MS = 200;

/** A spool as the server has it that claimed it. */
export interface Spool {
  /** Differs from that of every other spool: the second half of an event's key. */
  readonly lane: number;
  /** Each start has the next number; a writer that finds a higher one than its own writes no more. */
  readonly run: number;
  /** The position up to which its segments are in the database. */
  readonly committed: JournalPosition;
  /** True where another process may still be adding to the segments. */
  readonly isOvertaking: boolean;
}

export interface ClaimOptions {
  /** The spool's own name (`openSpoolFolder`). */
  readonly id: string;
  /** Tells the folder's lock from any other (`toHolder`). */
  readonly holder: string;
  /** Waits between two polls. */
  readonly sleep?: (ms: number) => Promise<void>;
}

/**
 * The locked file on this machine, as it runs now: a copy of the folder has another file, or is on another machine. The
 * host's name comes first, for people: that of a container changes while its folder stays.
 */
export function toHolder(lockFile: string): string {
  const host = hostname();
  return `${host} ${findBoot() ?? host} ${lockFile}`;
}

function isSameLock(one: string, other: string): boolean {
  return one.slice(one.indexOf(" ")) === other.slice(other.indexOf(" "));
}

/**
 * Begins a run of a spool, which has a lane from its first start on. A process before that held the same lock has ended; one
 * that held another lock is waited for until it has been silent for long enough. Throws SetupError when it is there: both
 * would write events of one name, from segments that differ.
 */
export async function claimSpool(postgres: Postgres, options: ClaimOptions): Promise<Spool> {
  let heardAt: string | null = null;
  for (let silentMs = 0; ; silentMs += POLL_INTERVAL_MS) {
    const attempt = await postgres.transaction((tx) => tryClaim(tx, options, silentMs >= SILENCE_MS));
    if (attempt.kind === "claimed") return attempt.spool;
    if (heardAt !== null && attempt.heardAt !== heardAt) throw toHeldError(attempt.holder);
    heardAt = attempt.heardAt;
    await (options.sleep ?? sleep)(POLL_INTERVAL_MS);
  }
}

/** Says that a run has ended: the next one need not wait for it. */
export async function releaseSpool(sql: Sql, { lane, run }: Pick<Spool, "lane" | "run">): Promise<void> {
  await sql.run("UPDATE spool SET holder = '' WHERE lane = $1 AND run = $2", [lane, run]);
}

type ClaimAttempt =
  | { readonly kind: "claimed"; readonly spool: Spool }
  | { readonly kind: "held"; readonly holder: string; readonly heardAt: string };

interface SpoolRow {
  readonly lane: number;
  readonly run: number;
  readonly holder: string;
  readonly heardAt: string;
  readonly segment: number;
  readonly offset: number;
}

async function tryClaim(tx: Sql, { id, holder }: ClaimOptions, isForced: boolean): Promise<ClaimAttempt> {
  const isFree = (row: SpoolRow) => isForced || row.holder === "" || isSameLock(row.holder, holder);
  const found = (await findSpool(tx, id)) ?? (await makeSpool(tx, id));
  // Its row is locked by whatever its writer does, which may take long: it is only looked at.
  if (!isFree(found)) return { kind: "held", holder: found.holder, heardAt: found.heardAt };
  const row = (await findSpool(tx, id, "FOR UPDATE")) ?? found;
  if (!isFree(row)) return { kind: "held", holder: row.holder, heardAt: row.heardAt };
  const isOthers = row.holder !== "" && !isSameLock(row.holder, holder);
  const run = row.run + 1;
  await tx.run("UPDATE spool SET run = $2, holder = $3, heard_at = clock_timestamp() WHERE lane = $1", [
    row.lane,
    run,
    holder,
  ]);
  const committed = { segment: row.segment, offsetBytes: row.offset };
  return { kind: "claimed", spool: { lane: row.lane, run, committed, isOvertaking: isOthers } };
}

/** Its server is heard by the spool's row, which waits while a batch takes long, and by that of the replica. */
async function findSpool(tx: Sql, id: string, lock: "" | "FOR UPDATE" = ""): Promise<SpoolRow | null> {
  const [row] = await tx.all<SpoolRow>(
    `SELECT lane, run, holder, segment, "offset",
       heard_at::text || coalesce((SELECT max(heartbeats)::text FROM replica WHERE replica.lane = spool.lane), '') AS "heardAt"
     FROM spool WHERE id = $1 ${lock}`,
    [id],
  );
  return row ?? null;
}

async function makeSpool(tx: Sql, id: string): Promise<SpoolRow> {
  // Two processes with copies of one new folder come at the same moment: the second finds the first one's.
  await tx.run("INSERT INTO spool (id) VALUES ($1) ON CONFLICT (id) DO NOTHING", [id]);
  const row = await findSpool(tx, id);
  if (row === null) throw new TypeError("a spool that was just made is not there");
  return row;
}

function toHeldError(holder: string): SetupError {
  return new SetupError(
    "configuration",
    `This spool is held by a server on ${holder.split(" ", 1)[0]}: another process serves with a copy of this data folder. Give each replica a folder of its own, and start this one with an empty one.`,
  );
}

/** The id of the boot of the running system, the same within a container; null where the system tells of none. */
function findBoot(): string | null {
  try {
    return readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  } catch {
    return null;
  }
}

/** In the folder of the segments: they are what it is the name of, and both are lost or copied together. */
const ID_NAME = "spool-id";
/** Names the installation whose usage the segments hold. */
const INSTALLATION_NAME = "installation-id";
const ID_BYTES = 16;
const ID_PATTERN = /^[0-9a-f]{32}\n?$/;

/** The folder of the segments in a data folder; it may be missing. */
export function toSpoolFolder(dataDir: string): string {
  return join(dataDir, SPOOL_NAME);
}

/**
 * The name of the spool in a data folder, made at its first start: 128 random bits. Throws SetupError for a file that holds
 * something else, for segments without it, and what the file system does.
 */
export function openSpoolFolder(dataDir: string, ids: Pick<Ids, "randomBytes">): string {
  const folder = toSpoolFolder(dataDir);
  ensureJournalFolder(folder);
  const path = join(folder, ID_NAME);
  const id = readId(path);
  if (id !== null) return id;
  if (findSegments(folder).length > 0) {
    throw new SetupError(
      "configuration",
      `The folder ${folder} holds segments and has lost its ${ID_NAME}: what of them is in the database already would be counted a second time. Put the file back from a copy, or move the segments away, which loses what they alone hold.`,
    );
  }
  const made = ids.randomBytes(ID_BYTES).toHex();
  writeId(path, made);
  return made;
}

/**
 * Returns the name of the installation in a database, and writes it into the folder of a spool that has none yet. Usage would be
 * counted twice if the segments of one installation were brought into another's database. Throws SetupError for such a folder, and
 * for a file that cannot be read or written.
 */
export async function requireOwnInstallation(
  sql: Sql,
  dataDir: string,
  ids: Pick<Ids, "randomBytes">,
): Promise<string> {
  const path = join(toSpoolFolder(dataDir), INSTALLATION_NAME);
  const known = withSetupErrors(path, () => readId(path, LOST_INSTALLATION_REMEDY), "journal");
  const made = ids.randomBytes(ID_BYTES).toHex();
  // A database with spools but no name is older than names: it takes the folder's, if the folder has one.
  await sql.run(
    `INSERT INTO meta (key, value)
     SELECT 'installation', CASE WHEN EXISTS (SELECT FROM spool) THEN $1::text ELSE $2::text END
     ON CONFLICT (key) DO NOTHING`,
    [known ?? made, made],
  );
  const [row] = await sql.all<{ value: string }>("SELECT value FROM meta WHERE key = 'installation'");
  if (row === undefined) throw new TypeError("a name that was just written is not there");
  if (known === null) withSetupErrors(path, () => writeId(path, row.value), "journal");
  else if (known !== row.value) {
    throw new SetupError(
      "configuration",
      `The folder ${toSpoolFolder(dataDir)} holds usage of another installation than the one in PROXY_DATABASE_URL and PROXY_DATABASE_SCHEMA, where it would be counted a second time: name its own, or serve with an empty data folder. If this database was put back to a state from before that usage, remove ${path} and start again.`,
    );
  }
  return row.value;
}

/** The name of the spool in a data folder; null when no server on PostgreSQL has run from it. */
export function findSpoolId(dataDir: string): string | null {
  return readId(join(toSpoolFolder(dataDir), ID_NAME));
}

/** The files that a server looks after: a name that is lost with its file would be replaced by another at the next start. */
export function watchSpoolNames(
  dataDir: string,
  names: { readonly id: string; readonly installation: string },
): readonly WatchedFile[] {
  const folder = toSpoolFolder(dataDir);
  const watch = (name: string, text: string): WatchedFile => {
    const path = join(folder, name);
    return {
      name: join(SPOOL_NAME, name),
      isInPlace: () => readText(path)?.trimEnd() === text,
      restore() {
        ensureJournalFolder(folder);
        putAside(path);
        writeId(path, text);
      },
    };
  };
  return [watch(ID_NAME, names.id), watch(INSTALLATION_NAME, names.installation)];
}

const LOST_ID_REMEDY =
  "put it back from a copy. Without one, remove it and the segments beside it, which loses what they alone hold.";
const LOST_INSTALLATION_REMEDY =
  "if PROXY_DATABASE_URL names the database that it was served with, remove this file alone, and it is written again.";

function readId(path: string, remedy = LOST_ID_REMEDY): string | null {
  const text = readText(path);
  if (text === null) return null;
  if (ID_PATTERN.test(text)) return text.trimEnd();
  throw new SetupError("configuration", `The file ${path} is damaged: ${remedy}`);
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "latin1");
  } catch (cause) {
    if (systemCode(cause) === "ENOENT") return null;
    throw cause;
  }
}

/** Durable before a segment is written: segments under another name than theirs would be counted a second time. */
function writeId(path: string, id: string): void {
  const file = openPrivateFile(path, "wx");
  try {
    writeSync(file, `${id}\n`);
    fsyncSync(file);
  } catch (cause) {
    // Half of a name would be taken for a damaged one.
    unlinkSync(path);
    throw cause;
  } finally {
    closeSync(file);
  }
  syncFolderNow(dirname(path));
}
