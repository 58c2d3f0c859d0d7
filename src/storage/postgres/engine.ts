import { SILENT_LOG } from "#kernel/log.ts";
import type { StorageEngine } from "#storage/engine.ts";
import { type CommandConnection, type CommandPlace, withCommandConnection } from "./command-connection.ts";
import { findSchemaAge } from "./connection/migrate.ts";
import { checkLedger, checkLimits } from "./ledger/check.ts";
import { openLedgerReader } from "./ledger/ledger-reader.ts";
import { makeCatalog, openLocal, rotateSecret } from "./local.ts";
import { toTarget } from "./place.ts";

/** PostgreSQL, which any number of replicas share. What only a server needs is loaded by it. */
export const postgresEngine: StorageEngine = {
  async serve(options) {
    const { openStorage } = await import("./storage.ts");
    return openStorage(options);
  },
  openLocal,
  rotateSecret,
  findCatalogAge: (place) =>
    withCommandConnection({ ...place, log: SILENT_LOG }, ({ postgres, schema }) =>
      findSchemaAge(postgres, schema),
    ),
  makeCatalog,
  openLedgerReader: ({ log, ...place }) => openLedgerReader({ ...toTarget(place), ...place, log }),
  checkLedger: (options) => onLedger(options, ({ postgres }) => checkLedger(postgres, options)),
  checkLimits: (options) => onLedger(options, ({ postgres }) => checkLimits(postgres, options)),
};

/** Null where no ledger was made yet. */
function onLedger<Checked>(
  place: Pick<CommandPlace, "database">,
  check: (connection: CommandConnection) => Promise<Checked>,
): Promise<Checked | null> {
  return withCommandConnection({ ...place, log: SILENT_LOG }, async (connection) => {
    const age = await findSchemaAge(connection.postgres, connection.schema);
    return age === "none" ? null : check(connection);
  });
}
