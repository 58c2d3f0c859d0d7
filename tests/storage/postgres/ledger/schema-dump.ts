import { expect } from "bun:test";
import { join } from "node:path";
import type { TestServer } from "../../../support/postgres.ts";

export async function dumpSchema(server: TestServer, schema: string): Promise<Uint8Array> {
  const dump = Bun.spawn([join(server.binFolder, "pg_dump"), "-Fc", "-n", schema, "-d", server.url], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const bytes = new Uint8Array(await new Response(dump.stdout).arrayBuffer());
  expect({ exit: await dump.exited, bytes: bytes.length > 0 }).toEqual({ exit: 0, bytes: true });
  return bytes;
}

/** As docs/scaling.md has it: the schema as it was, while the replica runs, which finds all of it or nothing. */
export async function restoreSchema(server: TestServer, schema: string, dump: Uint8Array): Promise<void> {
  await server.sql(`DROP SCHEMA ${schema} CASCADE`);
  const restore = Bun.spawn(
    [join(server.binFolder, "pg_restore"), "-d", server.url, "--single-transaction"],
    {
      stdin: dump,
      stdout: "pipe",
      stderr: "pipe",
    },
  );
  expect({ exit: await restore.exited, error: await new Response(restore.stderr).text() }).toEqual({
    exit: 0,
    error: "",
  });
}
