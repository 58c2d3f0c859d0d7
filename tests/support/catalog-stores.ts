import { dirname } from "node:path";
import { parseConfig } from "#boot/settings/config.ts";
import { engineOf } from "#boot/settings/engine.ts";
import type { CatalogStores, OpenOptions } from "#storage/engine.ts";
import { openCatalogDatabase } from "#storage/sqlite/catalog/catalog-database.ts";
import { engineEnvironment, isOnPostgres } from "./engine.ts";

export interface TestStores extends CatalogStores {
  close(): Promise<void>;
}

/** The catalog's stores as a process has them that may change it, on the engine of this run; on SQLite in the file `path`. */
export async function openTestStores(
  path: string,
  options: Omit<OpenOptions, "dataDir" | "database">,
): Promise<TestStores> {
  if (!isOnPostgres) return await openCatalogDatabase({ ...options, path });
  const dataDir = dirname(path);
  const config = parseConfig({ PROXY_DATA_DIR: dataDir, ...(await engineEnvironment(dataDir)) });
  const engine = await engineOf(config);
  const place = { ...options, dataDir, database: config.database };
  await engine.makeCatalog(place);
  const local = await engine.openLocal(place);
  return { ...(await local.forWriting()), close: () => local.close() };
}
