import type { StorageEngine } from "#storage/engine.ts";
import { sqliteEngine } from "#storage/sqlite/engine.ts";

/** What keeps the data, chosen here and nowhere else. `PROXY_DATABASE_URL` names SQLite files only, so there is one. */
export const engine: StorageEngine = sqliteEngine;
