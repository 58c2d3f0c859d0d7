import { SetupError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import type { DataPlace } from "#storage/place.ts";
import { findSchemaAge } from "./connection/migrate.ts";
import { openPostgres, type Postgres } from "./connection/postgres.ts";
import { PURPOSES } from "./connection/limits.ts";
import type { PostgresTarget } from "./connection/target.ts";

/** What a command beside the replicas has of their database. */
export interface CommandConnection {
  readonly postgres: Postgres;
  readonly schema: string;
  readonly close: () => Promise<void>;
}

export type CommandPlace = Pick<DataPlace, "database"> & { readonly log: Log };

/** Where the database of an installation is, and for how long memory is believed without it. */
export function toTarget({ database }: Pick<DataPlace, "database">): {
  readonly target: PostgresTarget;
  readonly graceMs: number;
} {
  if (database.kind !== "postgres") throw new TypeError(`PostgreSQL was asked for ${database.kind}`);
  const { url, schema, graceMs } = database;
  return { target: { url, schema }, graceMs };
}

/** Throws SetupError and DatabaseUnreachableError. */
export async function connectCommand(place: CommandPlace): Promise<CommandConnection> {
  const { target } = toTarget(place);
  const postgres = await openPostgres({ target, ...PURPOSES.command, log: place.log });
  return { postgres, schema: target.schema, close: () => postgres.close() };
}

/** Runs one step on connections of its own. */
export async function withCommandConnection<Result>(
  place: CommandPlace,
  step: (connection: CommandConnection) => Promise<Result>,
): Promise<Result> {
  const connection = await connectCommand(place);
  try {
    return await step(connection);
  } finally {
    await connection.close();
  }
}

/** Throws SetupError unless the schema is there and is this version's. */
export async function requireCurrent({ postgres, schema }: CommandConnection): Promise<void> {
  const age = await findSchemaAge(postgres, schema);
  if (age === "none")
    throw new SetupError(
      "configuration",
      `The schema ${schema} has no catalog yet: the first start of a server makes it.`,
    );
  if (age === "older")
    throw new SetupError(
      "configuration",
      `The schema ${schema} is of an older version: start a server of this version, which brings it up to date, as lockport migrate does, or run the command with the servers' own.`,
    );
}
