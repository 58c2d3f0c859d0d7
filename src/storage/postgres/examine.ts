import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import type { DatabaseAge, PostgresDatabase } from "#storage/engine.ts";
import { quoteName } from "./connection/values.ts";
import { findSchemaAge } from "./connection/migrate.ts";
import { openPostgres, type Postgres } from "./connection/postgres.ts";
import { PURPOSES } from "./connection/limits.ts";

/** The nearest of several answers: one may have been held up on its way. */
const CLOCK_READS = 3;

/** The findings in the database of several replicas. */
export interface DatabaseExamination {
  /** Such as `15.18`. */
  readonly version: string;
  readonly isEncrypted: boolean;
  /** It takes no changes. */
  readonly isStandby: boolean;
  /** The database's clock against this machine's; above zero where that is ahead. */
  readonly clockSkewMs: number;
  readonly schema: DatabaseAge;
  /** Rights that serving needs and this role lacks, such as `INSERT on spool`. */
  readonly lackingRights: readonly string[];
  readonly replicas: readonly IdleReplica[];
  /** By the number of their writer. */
  readonly spools: readonly IdleSpool[];
}

/** A spool, or a replica, that has given no heartbeat. */
export interface IdleSpool {
  readonly name: string;
  /** Since its last heartbeat. */
  readonly idleSeconds: number;
}

export interface IdleReplica extends IdleSpool {
  /** Slots of `max_concurrency` that no other replica has meanwhile. */
  readonly slots: number;
}

export interface ExaminationOptions {
  readonly database: PostgresDatabase;
  readonly clock: Clock;
  readonly log: Log;
}

/** Examines the database for `doctor`, and changes nothing. Throws `SetupError` and `UnreachableError`, whose messages say what is wrong. */
export async function examineDatabase({
  database,
  clock,
  log,
}: ExaminationOptions): Promise<DatabaseExamination> {
  await using postgres = await openPostgres({ target: database, ...PURPOSES.doctor, log });
  const session = await readSession(postgres);
  const age = await findSchemaAge(postgres);
  return {
    ...session,
    clockSkewMs: await measureSkew(postgres, clock),
    schema: age,
    lackingRights: await findLackingRights(postgres, age !== "none"),
    ...(await readIdleReplicas(postgres)),
  };
}

type Session = Pick<DatabaseExamination, "version" | "isEncrypted" | "isStandby">;

async function readSession(postgres: Postgres): Promise<Session> {
  const [row] = await postgres.all<Session>(
    `SELECT current_setting('server_version') AS version, pg_is_in_recovery() OR current_setting('default_transaction_read_only') = 'on' AS "isStandby",
       coalesce((SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()), false) AS "isEncrypted"`,
  );
  if (row === undefined) throw new TypeError("a SELECT without FROM has one row");
  return row;
}

/** Positive: the database's clock is ahead of ours. */
async function measureSkew(postgres: Postgres, clock: Clock): Promise<number> {
  let nearest = { tripMs: Number.POSITIVE_INFINITY, skewMs: 0 };
  for (let read = 0; read < CLOCK_READS; read += 1) {
    const sentMs = clock.monotonicMs();
    const [row] = await postgres.all<{ now_ms: number }>(
      "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::double precision AS now_ms",
    );
    const tripMs = clock.monotonicMs() - sentMs;
    const hereMs = clock.nowUs() / 1000 - tripMs / 2;
    if (tripMs < nearest.tripMs) nearest = { tripMs, skewMs: (row?.now_ms ?? hereMs) - hereMs };
  }
  return nearest.skewMs;
}

/**
 * The rights that this role lacks: those on each table and sequence that serving needs, and what makes the schema where it is
 * not there, unless an operator has made it for this role.
 */
async function findLackingRights(postgres: Postgres, isMade: boolean): Promise<readonly string[]> {
  const rows = await postgres.all<{ lacking: string }>(
    `SELECT lacking FROM (
       SELECT 1 AS rank, 'CREATE on the database or the schema' AS lacking WHERE NOT $2 AND NOT
         coalesce(has_schema_privilege(to_regnamespace($1), 'CREATE'), has_database_privilege(current_database(), 'CREATE'))
       UNION ALL SELECT 2, needed || ' on ' || relname FROM pg_class,
         LATERAL unnest(CASE relkind WHEN 'S' THEN ARRAY['USAGE'] ELSE ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE'] END) AS needed
       WHERE $2 AND relnamespace = to_regnamespace($1) AND relkind IN ('r', 'p', 'S') AND NOT relispartition AND relname <> 'migration'
         AND NOT CASE relkind WHEN 'S' THEN has_sequence_privilege(oid, needed) ELSE has_table_privilege(oid, needed) END
     ) AS found ORDER BY rank, split_part(lacking, ' on ', 2), lacking`,
    [quoteName(postgres.schema), isMade],
  );
  return rows.map(({ lacking }) => lacking);
}

/** None where the tables are not there, or may not be read. */
async function readIdleReplicas(
  postgres: Postgres,
): Promise<Pick<DatabaseExamination, "replicas" | "spools">> {
  const tables = ["replica", "spool", "slot_lease"];
  const readable = await postgres.all(
    `SELECT FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relname = ANY($2::text[])
       AND has_table_privilege(oid, 'SELECT')`,
    [quoteName(postgres.schema), tables],
  );
  if (readable.length < tables.length) return { replicas: [], spools: [] };
  const slots = `(SELECT coalesce(sum(slots), 0) FROM slot_lease WHERE replica_id = replica.id)::integer AS slots`;
  return {
    replicas: await readIdle<IdleReplica>(postgres, "replica", `name, ${slots}`),
    spools: await readIdle<IdleSpool>(postgres, "spool", "lane::text AS name"),
  };
}

function readIdle<Row extends IdleSpool>(
  postgres: Postgres,
  table: string,
  columns: string,
): Promise<readonly Row[]> {
  return postgres.all<Row>(
    `SELECT ${columns}, extract(epoch FROM clock_timestamp() - heard_at)::double precision AS "idleSeconds"
     FROM ${table} ORDER BY heard_at LIMIT 100`,
  );
}
