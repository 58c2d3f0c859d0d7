import type { Command } from "commander";
import { existsSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createSystem } from "#boot/process/system.ts";
import {
  configWith,
  isOnFiles,
  isOnPostgres,
  type FileConfig,
  type PostgresConfig,
} from "#boot/settings/config.ts";
import { addExamples } from "#cli/screen/help.ts";
import { refuseUrl } from "#cli/input/options.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { toCount, writeDone, type OutputOptions } from "#cli/screen/output.ts";
import { withProgress, withTransfer } from "#cli/screen/progress.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { SetupError } from "#kernel/errors.ts";

interface MigrateOptions extends OutputOptions {
  readonly from?: string;
  readonly dataDir?: string;
  readonly to?: string;
}

const CATALOG = "catalog.db";
const USAGE = "usage.db";
const FILE_SCHEME = "sqlite:";
const NAME_IT = "Name the data folder of the stopped server, or sqlite:PATH of its catalog.";

/** `lockport migrate`: an installation from its files to PostgreSQL, or the schema there up to date. */
export function addCommands(program: Command, terminal: Terminal): void {
  const command = refuseUrl(
    program
      .command("migrate")
      .description("move to PostgreSQL, or bring its schema up to date")
      .option("--from <place>", "the data folder of a stopped server, or sqlite:PATH of its catalog")
      .option("--data-dir <path>", "data folder, where the catalog of --from is not in it")
      .option("--to <url>", "postgres://… without a password (before PROXY_DATABASE_URL)")
      .option("--json", "print JSON"),
  ).action(async (options: MigrateOptions) => {
    const target = findTarget(terminal.env, options);
    if (options.from === undefined) await updateSchema(terminal, target, options);
    else await move(terminal, { source: findSource(terminal.env, options.from, options), target }, options);
  });
  command.addHelpText(
    "after",
    "\nWithout --from it brings the schema up to date and makes partitions of the request log for a week ahead, as each start\ndoes whose role may create tables: run it as such a role where the servers' may not. With --from the schema has to be\nempty; what is copied is compared with the source, and all of it is taken back unless both are the same. The source\nstays as it is. A URL with a password comes from PROXY_DATABASE_URL alone.",
  );
  addExamples(command, [
    "lockport migrate",
    "lockport migrate --from sqlite:/var/lib/lockport/catalog.db --to postgres://lockport@127.0.0.1/lockport",
  ]);
}

async function move(
  terminal: Terminal,
  places: { readonly source: FileConfig; readonly target: PostgresConfig },
  options: MigrateOptions,
): Promise<void> {
  const { source, target } = places;
  const { moveInstallation } = await import("#boot/operate/move.ts");
  const { rows, secretKeyPath } = await withTransfer(terminal, (progress) =>
    moveInstallation({ source, target: target.database, progress }, createSystem(source)),
  );
  const count = (table: string) => toCount(rows.get(table) ?? 0);
  writeDone(terminal, options, {
    view: { schema: target.database.schema, secret_key_file: secretKeyPath, rows: Object.fromEntries(rows) },
    sentence: [
      `Moved ${count("event")} requests, ${count("principals")} principals, ${count("api_keys")} API keys and ${count("models")} models into the schema ${target.database.schema}, and found them the same there.`,
      `Start each replica with PROXY_DATABASE_URL, PROXY_ADMIN_PASSWORD (or PROXY_ADMIN_PASSWORD_DISABLED=true), a data folder of its own, and ${secretKeyPath === null ? "the same PROXY_SECRET_KEY" : `the content of ${secretKeyPath} as PROXY_SECRET_KEY`}.`,
      `${source.dataDir} is as it was: do not serve from it again.`,
    ].join(" "),
  });
}

async function updateSchema(
  terminal: Terminal,
  target: PostgresConfig,
  options: MigrateOptions,
): Promise<void> {
  const { schema } = target.database;
  const { updateSchema: update } = await import("#boot/operate/move.ts");
  const applied = await withProgress(terminal, "Bringing the schema up to date", () =>
    update(target.database, createSystem(target)),
  );
  writeDone(terminal, options, {
    view: { schema, applied },
    sentence:
      applied.length === 0
        ? `The schema ${schema} is up to date.`
        : `The schema ${schema} was brought up to date: ${applied.join(", ")}.`,
  });
}

function findTarget(env: Environment, { to }: MigrateOptions): PostgresConfig {
  if (to !== undefined && (URL.parse(to)?.password ?? "") !== "") {
    throw new CommandError(
      "usage",
      "--to holds a password, which every user of this machine can read and the shell's history keeps: set PROXY_DATABASE_URL to that URL and leave --to out. If it is a real one, replace it.",
    );
  }
  const config = configWith(env, { PROXY_DATABASE_URL: to, PROXY_LEDGER_SYNC: "interval" });
  if (isOnPostgres(config)) return config;
  throw new CommandError(
    "usage",
    "Name the PostgreSQL database with PROXY_DATABASE_URL or --to (postgres://…). The schema of SQLite is brought up to date by the next start.",
  );
}

function findSource(env: Environment, from: string, options: MigrateOptions): FileConfig {
  const path = resolve(from.startsWith(FILE_SCHEME) ? from.slice(FILE_SCHEME.length) : from);
  const isFolder = requireThere("--from", path);
  const catalogPath = isFolder ? join(path, CATALOG) : path;
  const dataDir = resolve(options.dataDir ?? dirname(catalogPath));
  if (options.dataDir !== undefined) requireThere("--data-dir", dataDir);
  // With one of the two it is an installation that has lost the other, which is told in words of its own.
  if (!existsSync(catalogPath) && !existsSync(join(dataDir, USAGE)))
    throw new SetupError(
      "configuration",
      `There is no Lockport installation in ${path} (--from). ${NAME_IT}`,
    );
  const config = configWith(env, {
    PROXY_DATA_DIR: dataDir,
    PROXY_DATABASE_URL: `${FILE_SCHEME}${catalogPath}`,
    PROXY_LEDGER_SYNC: "interval",
  });
  if (isOnFiles(config)) return config;
  throw new CommandError("usage", "--from names a data folder, or sqlite:PATH of its catalog.");
}

/** True for a folder. Throws a `SetupError` that names the option where nothing is there. */
function requireThere(option: string, path: string): boolean {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined)
    throw new SetupError("configuration", `${path} (${option}) does not exist. ${NAME_IT}`);
  return found.isDirectory();
}
