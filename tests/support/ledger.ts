import { lockDataFolder } from "#storage/files/folder-lock.ts";
import { takeLedger } from "#storage/sqlite/ledger/ledger.ts";
import { type LedgerOptions, type OpenedLedger, openLedger as openParts } from "#storage/threads/ledger.ts";
import {
  createManualClock,
  createTestLog,
  ENDING,
  EVERYTHING,
  NEW_YEAR_US,
  SUBJECT,
} from "../ledger/usage.ts";
import { makeFolder } from "./folder.ts";

/** The ledger of a data folder in files, as a server has it, without its catalog. */
export async function openLedger(options: Omit<LedgerOptions, "lock">): Promise<OpenedLedger> {
  const { dataDir, clock } = options;
  await using stack = new AsyncDisposableStack();
  const lock = stack.adopt(lockDataFolder(dataDir), (held) => held.release());
  const opened = openParts(takeLedger(dataDir, { lock, clock }), { ...options, lock });
  stack.defer(() => opened.close());
  await opened.start();
  const held = stack.move();
  return { ...opened, close: () => held.disposeAsync() };
}

export interface TestLedger extends OpenedLedger, AsyncDisposable {
  readonly dataDir: string;
  /** Lines that the ledger has logged. */
  readonly lines: readonly string[];
  /** Records requests that arrive so many microseconds after the new year, one after the other. */
  record(...laterUs: readonly number[]): Promise<void>;
  countRecorded(): Promise<number>;
}

/** The ledger of a server, in a folder of its own unless it is given one. */
export async function serveLedger(
  options: Partial<Omit<LedgerOptions, "lock" | "log">> = {},
): Promise<TestLedger> {
  const own = options.dataDir === undefined ? makeFolder() : null;
  const dataDir = options.dataDir ?? own?.path ?? "";
  const { log, lines } = createTestLog();
  const clock = createManualClock();
  const opened = await openLedger({
    clock,
    ledgerSync: "interval",
    usageRetentionDays: null,
    ...options,
    dataDir,
    log,
  });
  return {
    ...opened,
    dataDir,
    lines,
    async record(...laterUs) {
      for (const later of laterUs)
        await opened.ledger.open({ ...SUBJECT, arrivedAtUs: NEW_YEAR_US + later }).end(ENDING);
    },
    countRecorded: async () => (await opened.stats.listRequests(EVERYTHING, { limit: 1, offset: 0 })).total,
    async [Symbol.asyncDispose]() {
      await opened.close();
      own?.remove();
    },
  };
}
