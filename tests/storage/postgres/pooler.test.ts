import { expect, test } from "bun:test";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import { pgbouncerMissing, startPgBouncer } from "../../support/pgbouncer.ts";
import { postgresMissing, sharedPostgres } from "../../support/postgres.ts";
import { silentLog } from "../support.ts";
import { failureOf } from "./support.ts";

const SESSION_SETTINGS = [
  "search_path",
  "statement_timeout",
  "idle_in_transaction_session_timeout",
  "client_connection_check_interval",
  "tcp_keepalives_idle",
  "tcp_keepalives_interval",
  "tcp_keepalives_count",
  "bytea_output",
  "extra_float_digits",
  "default_transaction_isolation",
  "lock_timeout",
  "idle_session_timeout",
];

test.skipIf(postgresMissing !== null || pgbouncerMissing).each([
  ["refuses", []],
  ["forgets", SESSION_SETTINGS],
])(
  "PgBouncer that %s what a session sets is refused by name before any statement runs",
  async (_, ignored) => {
    await using pooler = await startPgBouncer(await sharedPostgres(), ignored);
    const target = { url: pooler.url, schema: "public" };
    const failure = await failureOf(
      openPostgres({ target, purpose: "test", connectionsMax: 1, callMsMax: 5_000, log: silentLog }),
    );
    expect(failure).toMatchObject({
      name: "SetupError",
      kind: "configuration",
      message: expect.stringContaining("PgBouncer"),
    });
  },
);
