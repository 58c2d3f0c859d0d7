import { expect, test } from "bun:test";
import { pgbouncerMissing, startPgBouncer } from "../../support/pgbouncer.ts";
import { postgresMissing, sharedPostgres } from "../../support/postgres.ts";
import { connect, failureOf } from "./support.ts";

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
    expect(await failureOf(connect(pooler.url))).toMatchObject({
      name: "SetupError",
      kind: "configuration",
      message: expect.stringContaining("PgBouncer"),
    });
  },
);
