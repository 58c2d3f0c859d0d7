import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import type { FileConfig } from "#boot/settings/config.ts";
import { engineOf, files, locks, type UsageFacts } from "#boot/settings/engine.ts";
import { toOwnSentence } from "#boot/folder/half-restore.ts";
import { findMissingData } from "#boot/folder/data-dir.ts";
import type { Use } from "#boot/folder/permission-problem.ts";
import { findSecretKey } from "#boot/secrets/secret-key.ts";
import { createSecretBox } from "#kernel/crypto.ts";
import type { Log } from "#kernel/log.ts";
import { CATALOG_NAME, USAGE_NAME, JOURNAL_NAME } from "#storage/files/data-files.ts";
import {
  toFailure,
  toOk,
  toWarning,
  type Check,
  findRightsFailure,
  standAlone,
  toDiagnosis,
  type Look,
} from "./check.ts";
import { toCounted } from "#kernel/text.ts";
import type { LocalStorage } from "#storage/engine.ts";

const RESTORE = "Stop the server and restore a backup: lockport restore FILE --force.";
const FOREIGN =
  "Use the version of lockport that wrote it, or stop the server and restore a backup: lockport restore FILE --force.";
const UPDATE = "The next start of the server brings it up to date, with a copy beside it.";

interface LockFound {
  readonly check: Check;
  /** True while a server runs from the data folder; null when this user cannot tell. */
  readonly isServing: boolean | null;
}

export function checkLock({ dataDir }: Pick<FileConfig, "dataDir">): LockFound {
  const name = "serving lock";
  const path = locks.toPath(dataDir);
  try {
    const isServing = existsSync(dataDir) && locks.isTaken(dataDir);
    return { check: toOk(name, `${isServing ? "a" : "no"} server runs from the folder`), isServing };
  } catch (cause) {
    const advice = `Stop the server that runs from the folder, if one does, and remove the file: rm ${path}`;
    const check = files.inspect.isDamage(cause)
      ? toFailure(name, `${path} is damaged: no server starts, and no restore`, advice)
      : toDiagnosis({ name, needs: [[path, "change"]], advice }, cause);
    return { check, isServing: null };
  }
}

interface CatalogFound {
  readonly check: Check;
  /** True when a command of this version can open and read it. */
  readonly isUsable: boolean;
}

export function checkCatalog(config: FileConfig): CatalogFound {
  const name = CATALOG_NAME;
  const path = config.database.path;
  const found = (check: Check, isUsable = false): CatalogFound => ({ check, isUsable });
  const look = toLook(name, path);
  const refused = findRightsFailure(look);
  if (refused !== null) return found(refused);
  try {
    if (files.inspect.findCatalogAge(path) === "none") {
      return found(findMissingDataOf(config, name) ?? toOk(name, "not made yet: the first start makes it"));
    }
    const { isCurrent, schema, secretCheckValue } = files.inspect.inspectCatalog(path);
    const damage = findDamage(look);
    if (damage !== null) return found(damage);
    const secret = findReadableKey(config);
    if (secret !== null && createSecretBox(secret).checkValue !== secretCheckValue) {
      const finding = "the secret key is not the one that it was made with";
      return found(toFailure(name, finding, "Put the original secret.key or PROXY_SECRET_KEY back."));
    }
    const check = isCurrent
      ? toOk(name, `sound, schema ${schema}`)
      : toWarning(name, `sound, of an older version (${schema})`, UPDATE);
    return found(check, secret !== null);
  } catch (cause) {
    return found(toDiagnosis(look, cause));
  }
}

export interface UsageFound {
  readonly check: Check;
  /** Null when it is not there, or cannot be read. */
  readonly facts: UsageFacts | null;
}

export function checkUsage(config: FileConfig): UsageFound {
  const name = USAGE_NAME;
  const path = join(config.dataDir, name);
  const look = toLook(name, path);
  const refused = findRightsFailure(look);
  if (refused !== null) return { check: refused, facts: null };
  try {
    if (!files.inspect.hasUsageDatabase(path)) {
      const lost = findMissingDataOf(config, name);
      return { check: lost ?? toOk(name, "not made yet: the first start makes it"), facts: null };
    }
    const facts = files.inspect.inspectUsage(path);
    const damage = findDamage(look);
    if (damage !== null) return { check: damage, facts: null };
    return { check: toOk(name, `sound, schema ${facts.schema}`), facts };
  } catch (cause) {
    return { check: toDiagnosis(look, cause), facts: null };
  }
}

interface JournalLook {
  readonly facts: UsageFacts | null;
  readonly isServing: boolean | null;
  readonly log: Log;
}

export async function checkJournal(config: FileConfig, look: JournalLook): Promise<Check> {
  const name = "usage journal";
  const directory = join(config.dataDir, JOURNAL_NAME);
  if (statSync(directory, { throwIfNoEntry: false })?.isDirectory() === false) {
    const advice = "Move it away: the next start of the server makes the folder.";
    return toFailure(name, `${directory} is a file, and no folder`, advice);
  }
  const refused = findRightsFailure({ name, needs: [[directory, "keep"]] });
  if (refused !== null) return refused;
  const { facts } = look;
  if (facts === null || !existsSync(directory)) return toOk(name, "nothing to look at");
  const needs = readdirSync(directory).map((file): readonly [string, Use] => [join(directory, file), "read"]);
  const advice = "Look at the folder and its disk; requests are refused when nothing can be written there.";
  return standAlone({ name, needs: [[directory, "keep"], ...needs], advice }, () =>
    lookAtJournal(directory, { config, facts, look }),
  );
}

interface JournalParts {
  readonly config: FileConfig;
  readonly facts: UsageFacts;
  readonly look: JournalLook;
}

async function lookAtJournal(directory: string, { config, facts, look }: JournalParts): Promise<Check> {
  const name = "usage journal";
  const damaged = files.inspect.countDamagedLines(directory, facts.position);
  if (damaged > 0) {
    const finding = `${damaged} ${damaged === 1 ? "line is" : "lines are"} torn or damaged`;
    return toWarning(
      name,
      finding,
      "They are skipped. After a crash one is usual; more of them tell of a failing disk.",
    );
  }
  const engine = await engineOf(config);
  const reader = engine.openLedgerReader({ ...config, log: look.log });
  try {
    const waitingBytes = await reader.settle();
    if (waitingBytes === 0) return toOk(name, "everything recorded is in usage.db");
    const finding = `${waitingBytes} bytes are not in usage.db yet`;
    return look.isServing === true
      ? toFailure(
          name,
          finding,
          "The server cannot write usage.db: its log says why (disk, rights, a lock of another process).",
        )
      : toWarning(
          name,
          finding,
          "The server brings them in, in a moment while it runs, else at its next start.",
        );
  } finally {
    await reader.close();
  }
}

function findMissingDataOf(config: FileConfig, name: string): Check | null {
  const missing = findMissingData(config);
  if (missing === null || missing.database !== name) return null;
  const { finding, advice } = missing;
  return toFailure(name, finding, toOwnSentence(advice));
}

/** A write-ahead log that another user left behind keeps a database closed as well as its own mode does. */
function toLook(name: string, path: string): Look {
  return {
    name,
    needs: ["", "-wal", "-shm"].map((suffix) => [`${path}${suffix}`, "change"]),
    advice: FOREIGN,
  };
}

function findDamage(look: Look): Check | null {
  const [path] = look.needs[0] ?? [""];
  try {
    files.inspect.requireIntact(path);
    return null;
  } catch (cause) {
    return toDiagnosis({ ...look, advice: RESTORE }, cause);
  }
}

/** A key file that cannot be read is the finding of its own check. */
function findReadableKey(config: FileConfig): Uint8Array | null {
  try {
    return findSecretKey(config);
  } catch {
    return null;
  }
}

const NAMED_MAX = 5;

/** Rows that were written by hand or by a newer version: each is out of force by itself. */
export async function checkCatalogRows({
  findUnreadable,
}: Pick<LocalStorage, "findUnreadable">): Promise<Check> {
  const name = "catalog rows";
  const rows = await findUnreadable();
  if (rows.length === 0) return toOk(name, "each can be read");
  const named = rows.slice(0, NAMED_MAX).map(({ table, id, column }) => `${table} ${id} (${column})`);
  return toFailure(
    name,
    `${toCounted(rows.length, "row")} cannot be read: ${named.join(", ")}${rows.length > NAMED_MAX ? ", …" : ""}`,
    "Correct the column in the database, or delete the row there, unless a newer version has written it. Until then its provider or model is not served, its key may use no model, and its limit lets nothing through.",
  );
}
