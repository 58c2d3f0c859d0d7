import { join } from "node:path";
import { goBackBeforeRestore } from "#boot/folder/half-restore.ts";
import { requireInstallation } from "#boot/folder/data-dir.ts";
import type { System } from "#boot/process/system.ts";
import { finishRotation, loadKeyring } from "#boot/secrets/secret-key.ts";
import type { FileConfig } from "#boot/settings/config.ts";
import { engineOf, loadMove, locks } from "#boot/settings/engine.ts";
import type { MovedRows, MoveProgress } from "#storage/move.ts";
import { SECRET_KEY_NAME } from "#storage/files/data-files.ts";
import type { PostgresDatabase } from "#storage/engine.ts";

interface MoveRequest {
  /** The installation in files, whose server is stopped. */
  readonly source: FileConfig;
  readonly target: PostgresDatabase;
  readonly progress: MoveProgress;
}

export interface Moved {
  readonly rows: MovedRows;
  /** The file whose content is PROXY_SECRET_KEY of the replicas; null where that is set already. */
  readonly secretKeyPath: string | null;
}

/**
 * Brings the schema up to date and makes the partitions of the days to come, for servers whose role may not. Returns the
 * names of the steps that were applied.
 */
export async function updateSchema(
  target: PostgresDatabase,
  { clock, log }: System,
): Promise<readonly string[]> {
  const { updateSchema: update } = await loadMove();
  return update({ target, log }, clock.nowUs());
}

/**
 * Moves an installation from its files to PostgreSQL. Of the source only the journal is changed: what a server has left in it
 * is brought into the database first, as its next start would. The target is as it was after every failure. Throws a
 * `SetupError`: a server runs on the folder, the target holds something, or is not what was copied.
 */
export async function moveInstallation(
  { source, target, progress }: MoveRequest,
  system: System,
): Promise<Moved> {
  const { clock, ids, log } = system;
  const place = { target, log };
  await goBackBeforeRestore(source, log);
  await requireInstallation(source);
  const { openInstallationSource, requireVacant, takeInstallation } = await loadMove();
  progress.step("looking at the target", null);
  await requireVacant(place);
  finishRotation(source, clock.nowUs());
  progress.step("replaying the journal", null);
  await replayJournal(source, system, loadKeyring(source, ids));
  const lock = locks.take(source.dataDir);
  try {
    const rows = openInstallationSource(source);
    try {
      return {
        rows: await takeInstallation(rows, { ...place, progress }),
        secretKeyPath: source.secretKey === null ? join(source.dataDir, SECRET_KEY_NAME) : null,
      };
    } finally {
      rows.close();
    }
  } finally {
    lock.release();
  }
}

/** As a start does: what was begun by a process that was killed ends as interrupted. */
async function replayJournal(
  source: FileConfig,
  { clock, log }: System,
  secrets: ReturnType<typeof loadKeyring>,
): Promise<void> {
  const engine = await engineOf(source);
  const storage = await engine.serve({
    dataDir: source.dataDir,
    database: source.database,
    secrets,
    clock,
    log,
    ledgerSync: "request",
    usageRetentionDays: null,
  });
  try {
    // Fulfilled when the writer has come to the journal's end, however long that takes.
    await storage.limitLedger.sumLimits([], clock.nowUs());
  } finally {
    await storage.close();
  }
}
