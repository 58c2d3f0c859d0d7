import { expect, test } from "bun:test";
import { migrateWithin } from "#storage/postgres/connection/migrate.ts";
import { openPostgres } from "#storage/postgres/connection/postgres.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";
import { silentLog } from "../support.ts";
import { failureOf } from "./support.ts";

/** A message of PostgreSQL's protocol (documentation, 55.7): its kind, its length and its fields. */
function toMessage(kind: string, fields: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind, 0, "latin1");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

const text = (value: string) => Buffer.from(`${value}\0`);
const int16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);
const int32 = (value: number) => Buffer.concat([int16(value >> 16), int16(value & 0xffff)]);
const READY = toMessage("Z", Buffer.from("I"));

/** One row with one column of text. */
function toAnswer(value: string): Buffer {
  const column = Buffer.concat([
    text("version"),
    int32(0),
    int16(0),
    int32(25),
    int16(-1),
    int32(-1),
    int16(0),
  ]);
  const cell = Buffer.concat([int32(value.length), Buffer.from(value)]);
  return Buffer.concat([
    toMessage("T", Buffer.concat([int16(1), column])),
    toMessage("D", Buffer.concat([int16(1), cell])),
    toMessage("C", text("SELECT 1")),
    READY,
  ]);
}

/** A server of a version before 14: it refuses a session that brings a setting which came with that. */
function startOldServer(version: string) {
  const refusal = toMessage(
    "E",
    Buffer.concat([
      text("SFATAL"),
      text("VFATAL"),
      text("C42704"),
      text("Munrecognized parameter"),
      Buffer.from([0]),
    ]),
  );
  const welcome = Buffer.concat([
    toMessage("R", int32(0)),
    toMessage("S", Buffer.concat([text("server_version"), text(version)])),
    toMessage("K", Buffer.concat([int32(1), int32(1)])),
    READY,
  ]);
  return Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket, bytes) {
        const said = bytes.toString("latin1");
        if (said.startsWith("Q")) socket.write(toAnswer(version));
        else if (said.includes("client_connection_check_interval")) socket.end(refusal);
        else if (said.includes("user\0")) socket.write(welcome);
      },
    },
  });
}

test("a server that refuses our sessions since it is older than 14 is told with its version", async () => {
  using server = startOldServer("13.14 (Debian 13.14-1)");
  const target = { url: `postgres://someone@127.0.0.1:${server.port}/postgres`, schema: "lockport" };
  const options = { target, purpose: "test", connectionsMax: 1, callMsMax: 5_000, log: silentLog };
  expect(await failureOf(openPostgres(options))).toMatchObject({
    name: "SetupError",
    kind: "configuration",
    message: "PostgreSQL 15 or newer is needed, and this one is 13.14 (Debian 13.14-1).",
  });
});

test("a server of the version before the oldest that will do is told with its version, and nothing is looked at or made", async () => {
  const asked: string[] = [];
  const row = { number: 140_009, version: "14.9", encoding: "UTF8" };
  const sql: Sql = {
    all: async <Row>(statement: string) => {
      asked.push(statement);
      const rows: readonly Row[] = JSON.parse(JSON.stringify([row]));
      return rows;
    },
    run: async (statement) => asked.push(statement),
  };
  expect(await failureOf(migrateWithin(sql, "lockport"))).toMatchObject({
    name: "SetupError",
    kind: "configuration",
    message: "PostgreSQL 15 or newer is needed, and this one is 14.9.",
  });
  expect(asked.length).toBe(1);
});
