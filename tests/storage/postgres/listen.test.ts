import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { postgresMissing, sharedPostgres } from "../../support/postgres.ts";
import { createTcpProxy } from "../../support/tcp-proxy.ts";

/** A process that listens, so that what it prints is seen: a line for each notification and each loss. */
const LISTENER = join(import.meta.dir, "child-listener.ts");

describe.skipIf(postgresMissing !== null)("notifications", () => {
  test("they come again after an outage, and nothing is printed on stderr meanwhile", async () => {
    const server = await sharedPostgres();
    const proxy = createTcpProxy(server.port);
    const child = Bun.spawn([process.execPath, LISTENER, proxy.toUrl(server.url)], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "pipe",
    });
    const heard = createLines(child.stdout);
    await heard.until("notified", 1);
    await server.sql("SELECT pg_notify('hints', '')");
    await heard.until("notified", 2);
    proxy.refuse();
    await heard.until("lost", 1);
    // Longer than two tries.
    await Bun.sleep(2_500);
    proxy.resume();
    await heard.until("notified", 3);
    await server.sql("SELECT pg_notify('hints', '')");
    await heard.until("notified", 4);
    await child.stdin.end();
    expect(await child.exited).toBe(0);
    expect(await child.stderr.text()).toBe("");
    proxy.stop();
  });

  test("a connection that fell silent is made anew with those of the calls", async () => {
    const server = await sharedPostgres();
    const proxy = createTcpProxy(server.port);
    const child = Bun.spawn([process.execPath, LISTENER, proxy.toUrl(server.url)], {
      stdin: "pipe",
      stdout: "pipe",
      stderr: "inherit",
    });
    const heard = createLines(child.stdout);
    await heard.until("notified", 1);
    proxy.silence();
    await heard.until("lost", 1);
    proxy.resume();
    await heard.until("notified", 2);
    await server.sql("SELECT pg_notify('hints', '')");
    await heard.until("notified", 3);
    await child.stdin.end();
    expect(await child.exited).toBe(0);
    proxy.stop();
  });
});

function createLines(stream: ReadableStream<Uint8Array<ArrayBuffer>>) {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let text = "";
  return {
    async until(line: string, count: number): Promise<void> {
      while (text.split("\n").filter((one) => one === line).length < count) {
        const { done, value } = await reader.read();
        if (done) throw new Error(`it ended: ${text}`);
        text += decoder.decode(value, { stream: true });
      }
    },
  };
}
