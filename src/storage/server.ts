import type { ServeOptions, Storage } from "./engine.ts";
import { measureFiles } from "./files/data-files.ts";
import { lockDataFolder } from "./files/folder-lock.ts";
import { closeOnFailure, type EngineDriver } from "./driver.ts";
import { openLedger } from "./threads/ledger.ts";

/** Opens everything for a server (`StorageEngine.serve`). It holds the data folder from before the first look at it until the end. */
export function openServer(driver: EngineDriver, options: ServeOptions): Promise<Storage> {
  const { dataDir, clock, log } = options;
  return closeOnFailure(async (opened) => {
    const lock = lockDataFolder(dataDir);
    opened.defer(() => lock.release());
    const { stores, ledger, shared, health, measure, leave } = await driver.serve(options, { lock, opened });
    const usage = await openLedger(ledger, {
      dataDir,
      lock,
      clock,
      log,
      sync: options.ledgerSync,
      retentionDays: options.usageRetentionDays,
    });
    opened.defer(async () => {
      // Both may wait for a database that is silent: they do so at once, since no request is served any more.
      const leaving = leave?.();
      await usage.close();
      await leaving;
    });
    return {
      ...usage,
      audit: stores.audit,
      identity: stores.identity,
      catalog: stores.catalog,
      limits: stores.limits,
      notices: stores.notices,
      responses: stores.responses,
      ...shared,
      ledgerGauges: () => usage.gauges(),
      health: () => health(usage),
      measure: async () => ({
        ...(await measure()),
        journalBytes: await measureFiles(ledger.journalDirectory),
      }),
      close: () => opened.disposeAsync(),
    };
  });
}
