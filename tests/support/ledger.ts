import { lockDataFolder } from "#storage/files/folder-lock.ts";
import { takeLedger } from "#storage/sqlite/ledger/ledger.ts";
import { type LedgerOptions, type OpenedLedger, openLedger as openParts } from "#storage/threads/ledger.ts";

/** The ledger of a data folder in files, as a server has it, without its catalog. */
export async function openLedger(options: Omit<LedgerOptions, "lock">): Promise<OpenedLedger> {
  const { dataDir, clock } = options;
  const lock = lockDataFolder(dataDir);
  try {
    const opened = await openParts(takeLedger(dataDir, { lock, clock }), { ...options, lock });
    const close = async () => {
      await opened.close();
      lock.release();
    };
    return { ...opened, close };
  } catch (cause) {
    lock.release();
    throw cause;
  }
}
