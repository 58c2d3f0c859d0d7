import { existsSync } from "node:fs";
import { join } from "node:path";
import { OWN_SLOTS } from "#catalog/slots.ts";
import { createOwnAttempts } from "#identity/attempts.ts";
import { createUsedStates } from "#identity/sso-state.ts";
import type { ServeOptions } from "#storage/engine.ts";
import { measureDatabase, USAGE_NAME } from "#storage/files/data-files.ts";
import type { HeldFolder, ServerParts } from "#storage/installation.ts";
import { openCatalogDatabase } from "./catalog/catalog-database.ts";
import { toCatalogPath } from "./file/open.ts";
import { takeLedger } from "./ledger/ledger.ts";

/** Opens both databases for a server (`EngineDriver.serve`). */
export async function serve(options: ServeOptions, { lock, opened }: HeldFolder): Promise<ServerParts> {
  const { dataDir, clock } = options;
  const path = toCatalogPath(options);
  const usagePath = join(dataDir, USAGE_NAME);
  const wasServed = existsSync(usagePath);
  const catalog = opened.adopt(await openCatalogDatabase({ ...options, path, isServing: true }), (one) =>
    one.close(),
  );
  const { file } = catalog;
  const { listFiles, ...ledger } = takeLedger(dataDir, { lock, clock, catalogPath: path });
  return {
    stores: catalog,
    ledger: {
      ...ledger,
      listFiles: (own) => [...listFiles(own), ...(file === null ? [] : [file])],
    },
    shared: {
      sharedAttempts: createOwnAttempts(clock),
      usedStates: createUsedStates(clock),
      limitBoard: null,
      slots: OWN_SLOTS,
      lane: 0,
      wasServed,
    },
    health: () => ({ isServing: file?.isInPlace() !== false, replica: null }),
    measure: async () => ({
      catalogBytes: await measureDatabase(path),
      usageBytes: await measureDatabase(usagePath),
    }),
  };
}
