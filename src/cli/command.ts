import { Command } from "commander";
import { parseConfig, type Config, type Environment } from "#boot/config.ts";
import { openLocal, type LocalServices } from "#boot/local.ts";
import { createSystem } from "#boot/system.ts";
import type { Page, Paged } from "#kernel/page.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { toTable } from "./table.ts";
import type { Terminal } from "./terminal.ts";

export interface LocalOptions {
  readonly dataDir?: string;
  readonly json?: true;
}

/** A command that works on the database directly; its options are `LocalOptions` and whatever it adds. */
export function addLocalCommand(parent: Command, usage: string, description: string): Command {
  return addDataDirOption(parent.command(usage).description(description)).option("--json", "print JSON");
}

export function addDataDirOption(command: Command): Command {
  return command.option("--data-dir <path>", "data folder (before PROXY_DATA_DIR)");
}

/** A flag goes before its variable, and is held to the same rule. */
export function configWith(
  env: Environment,
  flags: { readonly [variable: string]: string | undefined },
): Config {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return parseConfig({ ...env, ...Object.fromEntries(given) });
}

/** Opens the catalog, runs the command, and closes again whatever happens. */
export async function withLocal<Result>(
  terminal: Terminal,
  options: LocalOptions,
  run: (local: LocalServices) => Promise<Result>,
): Promise<Result> {
  const config = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
  // What a server would tell at level info (a database made, a migration applied) is noise beside a command's answer.
  const logLevel = config.logLevel === "info" ? "warn" : config.logLevel;
  const local = await openLocal(config, createSystem({ logLevel }));
  try {
    return await run(local);
  } finally {
    await local.close();
  }
}

/** Every row of a list that comes in pages. */
export async function listAll<Row>(list: (page: Page) => Promise<Paged<Row>>): Promise<readonly Row[]> {
  const all: Row[] = [];
  for (;;) {
    const { rows, total } = await list({ limit: PAGE_LIMIT_MAX, offset: all.length });
    all.push(...rows);
    if (rows.length === 0 || all.length >= total) return all;
  }
}

/** A value as JSON, for programs. */
export function writeJson(terminal: Terminal, value: unknown): void {
  terminal.writeData(`${JSON.stringify(value, null, 2)}\n`);
}

/** Views as JSON or as a table with these columns, in this order. */
export function writeList<View extends { readonly [field: string]: unknown }>(
  terminal: Terminal,
  options: LocalOptions,
  list: { readonly views: readonly View[]; readonly columns: readonly (keyof View & string)[] },
): void {
  if (options.json === true) {
    writeJson(terminal, list.views);
    return;
  }
  const heading = list.columns.map((column) => column.toUpperCase().replaceAll("_", " "));
  terminal.writeData(
    toTable(
      heading,
      list.views.map((view) => list.columns.map((column) => toCell(view[column]))),
    ),
  );
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return "-";
  if (typeof value === "string") return value;
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return value.length === 0 ? "-" : value.map(toCell).join(",");
  const pairs = Object.entries(value).map(([key, inner]) => `${key}=${toCell(inner)}`);
  return pairs.length === 0 ? "-" : pairs.join(",");
}
