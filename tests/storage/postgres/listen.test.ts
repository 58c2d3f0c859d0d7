import { expect, test } from "bun:test";
import { join } from "node:path";
import { postgresMissing, sharedPostgres } from "../../support/postgres.ts";
import { readLines } from "../../support/process.ts";
import { createTcpProxy } from "../../support/tcp-proxy.ts";

/** A process that listens, so that what it prints is seen: a line for each notification and each loss. */
const LISTENER = join(import.meta.dir, "child-listener.ts");

test.skipIf(postgresMissing !== null)(
  "notifications come again after an outage and after a silence, and nothing is printed on stderr meanwhile",
  async () => {
    const server = await sharedPostgres();
    const proxy = createTcpProxy(server.port);
    const child = Bun.spawn([process.execPath, LISTENER, proxy.toUrl(server.url)], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    const lines = readLines(child.stdout);
    /** Passes over the other lines: each try in an outage is told. */
    const next = async (word: "notified" | "lost") => {
      let line = await lines.next();
      while (line.done !== true && line.value !== word) line = await lines.next();
      expect(line.value).toBe(word);
    };
    const notify = () => server.sql("SELECT pg_notify('hints', '')");
    // It is told as one that it can be notified again.
    await next("notified");
    await notify();
    await next("notified");
    for (const cut of [() => proxy.refuse(), () => proxy.silence()]) {
      cut();
      await next("lost");
      // Longer than two tries.
      await Bun.sleep(2_500);
      proxy.resume();
      await next("notified");
      await notify();
      await next("notified");
    }
    await child.stdin.end();
    expect(await child.exited).toBe(0);
    expect(await child.stderr.text()).toBe("");
    proxy.stop();
  },
  60_000,
);
