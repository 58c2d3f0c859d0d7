import { SILENT_LOG } from "#kernel/log.ts";
import { openInstallation } from "#storage/installation.ts";
import { findSchemaAge } from "./connection/migrate.ts";
import { findLedger } from "./ledger/ledger.ts";
import { connectCommand, makeCatalog, openLocal, rotateSecret, toTarget } from "./local.ts";

/** PostgreSQL, which any number of replicas share. What only a server needs is loaded by it. */
export const postgresEngine = openInstallation({
  async serve(options, held) {
    const { serve } = await import("./serve.ts");
    return serve(options, held);
  },
  openLocal,
  rotateSecret,
  async findCatalogAge(place) {
    await using postgres = await connectCommand({ ...place, log: SILENT_LOG });
    return await findSchemaAge(postgres);
  },
  makeCatalog,
  findLedger: (place) =>
    findLedger({ dataDir: place.dataDir, target: toTarget(place) }, () =>
      connectCommand({ ...place, log: SILENT_LOG }),
    ),
});
