import { SILENT_LOG } from "#kernel/log.ts";
import { openInstallation } from "#storage/installation.ts";
import { connectCommand, toTarget, withCommandConnection } from "./command-connection.ts";
import { findSchemaAge } from "./connection/migrate.ts";
import { findLedger } from "./ledger/ledger.ts";
import { makeCatalog, openLocal, rotateSecret } from "./local.ts";

/** PostgreSQL, which any number of replicas share. What only a server needs is loaded by it. */
export const postgresEngine = openInstallation({
  async serve(options, held) {
    const { serve } = await import("./serve.ts");
    return serve(options, held);
  },
  openLocal,
  rotateSecret,
  findCatalogAge: (place) =>
    withCommandConnection({ ...place, log: SILENT_LOG }, ({ postgres, schema }) =>
      findSchemaAge(postgres, schema),
    ),
  makeCatalog,
  findLedger: (place) =>
    findLedger({ ...toTarget(place), ...place }, () => connectCommand({ ...place, log: SILENT_LOG })),
});
