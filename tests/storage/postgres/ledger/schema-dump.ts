import { expect } from "bun:test";
import { join } from "node:path";
import { SQL } from "bun";
import type { TestSchema, TestServer } from "../../../support/postgres.ts";

type Place = Pick<TestSchema, "url" | "schema">;

export async function dumpSchema({ binFolder }: TestServer, { url, schema }: Place): Promise<Uint8Array> {
  const dump = Bun.spawn([join(binFolder, "pg_dump"), "-Fc", "-n", schema, "-d", url], {
    stdout: "pipe",
    stderr: "pipe",
  });
  const bytes = new Uint8Array(await new Response(dump.stdout).arrayBuffer());
  expect({ exit: await dump.exited, bytes: bytes.length > 0 }).toEqual({ exit: 0, bytes: true });
  return bytes;
}

/** As docs/scaling.md has it: the schema as it was, while the replica runs, which finds all of it or nothing. */
export async function restoreSchema(
  { binFolder }: TestServer,
  { url, schema }: Place,
  dump: Uint8Array,
): Promise<void> {
  await using client = new SQL(url, { max: 1 });
  await client.unsafe(`DROP SCHEMA ${schema} CASCADE`);
  const restore = Bun.spawn([join(binFolder, "pg_restore"), "-d", url, "--single-transaction"], {
    stdin: dump,
    stdout: "pipe",
    stderr: "pipe",
  });
  expect({ exit: await restore.exited, error: await new Response(restore.stderr).text() }).toEqual({
    exit: 0,
    error: "",
  });
}
