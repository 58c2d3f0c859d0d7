import { expect, test } from "bun:test";
import { join } from "node:path";
import { THREADS_MAX } from "#storage/threads/reader-client.ts";
import { PURPOSES } from "#storage/postgres/connection/limits.ts";

const root = join(import.meta.dir, "../../..");

test("a replica holds as many connections at most as operators are told to have room for", async () => {
  const { serve, presence, writer, reports } = PURPOSES;
  const pools = [serve, presence, writer, ...Array.from({ length: THREADS_MAX }, () => reports)];
  // And the one that listens.
  const most = pools.reduce((sum, { connectionsMax }) => sum + connectionsMax, 1);
  const told = {
    "docs/scaling.md": `A replica holds ${most} connections at most`,
    "src/boot/operate/doctor/database.ts": `of which each replica takes ${most}.`,
  };
  for (const [path, sentence] of Object.entries(told))
    expect(await Bun.file(join(root, path)).text()).toContain(sentence);
});
