import type { DataPlace } from "#storage/place.ts";

/** The file of the catalog. The settings have picked this engine by it. */
export function toCatalogPath({ database }: Pick<DataPlace, "database">): string {
  if (database.kind !== "sqlite") throw new TypeError("SQLite keeps its catalog in a file");
  return database.path;
}
