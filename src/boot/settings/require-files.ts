import { SetupError } from "#kernel/errors.ts";
import { isOnFiles, type Config, type FileConfig } from "./config.ts";

/**
 * For `backup` and `restore`, which know files. Throws a `SetupError` that names PostgreSQL's own command otherwise: its copy is one
 * moment of all tables, and what reaches the server is told to it by its own variables.
 */
export function requireOnFiles(config: Config, task: "backup" | "restore"): FileConfig {
  if (isOnFiles(config)) return config;
  const { database } = config;
  const schema = database.kind === "postgres" ? database.schema : "";
  const commands = {
    backup: `pg_dump --schema=${schema} --format=custom --file=lockport.dump`,
    restore: `psql -c 'DROP SCHEMA IF EXISTS ${schema} CASCADE' && pg_restore --dbname="$PGDATABASE" --single-transaction --exit-on-error lockport.dump`,
  };
  throw new SetupError(
    "configuration",
    `This installation is in PostgreSQL (PROXY_DATABASE_URL), where lockport ${task} has no files to work on. Set PGHOST, PGPORT, PGUSER, PGDATABASE and PGPASSWORD (or a service file) to what that URL says, and use: ${commands[task]}`,
  );
}
