import { expect, test } from "bun:test";
import { dlopen, ptr } from "bun:ffi";
import { readdirSync, readFileSync } from "node:fs";
import net from "node:net";
import { boundBuffers, RECEIVE_BUFFER_BYTES, SEND_BUFFER_BYTES } from "#boot/process/listening-sockets.ts";

const BODY_BYTES = 4 * 1024 * 1024;
/** The runtime reads 512 KiB at once, and again in the same turn unless 24 KiB less came. */
const READ_AGAIN_BYTES = (512 - 24) * 1024;
const [SOL_SOCKET, SO_RCVBUF] = [1, 8];

/** The kernel's bound of each socket of this process. */
function receiveBuffers(): readonly number[] {
  const library = dlopen("libc.so.6", {
    getsockopt: { args: ["i32", "i32", "i32", "ptr", "ptr"], returns: "i32" },
  });
  const bounds = readdirSync("/proc/self/fd").flatMap((name) => {
    const value = new Int32Array(1);
    const failed = library.symbols.getsockopt(
      Number(name),
      SOL_SOCKET,
      SO_RCVBUF,
      ptr(value),
      ptr(new Uint32Array([4])),
    );
    return failed === 0 ? [value[0] ?? 0] : [];
  });
  library.close();
  return bounds;
}

test("a connection that is accepted keeps less than one read of the runtime in the kernel, and a long body still arrives whole", async () => {
  const rmemMax = Number(readFileSync("/proc/sys/net/core/rmem_max", "utf8"));
  const bound = Math.min(RECEIVE_BUFFER_BYTES, rmemMax) * 2;
  expect(bound).toBeLessThan(READ_AGAIN_BYTES);
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    maxRequestBodySize: Infinity,
    fetch: async (request) => Response.json({ bytes: (await request.bytes()).length }),
  });
  const bounded = () => receiveBuffers().filter((bytes) => bytes === bound).length;
  const before = bounded();
  expect(boundBuffers()).toBeGreaterThanOrEqual(1);
  const listening = bounded();
  expect(listening).toBeGreaterThan(before);
  const client = net.connect(server.port ?? 0, "127.0.0.1");
  const answer = await fetch(server.url, { method: "POST", body: "x".repeat(BODY_BYTES) });
  expect(await answer.json()).toEqual({ bytes: BODY_BYTES });
  // Connections that were accepted after it have it as well.
  expect(bounded()).toBeGreaterThan(listening);
  client.destroy();
  await server.stop(true);
});

test("a caller that reads nothing holds its stream up before half a megabyte, so that it is known for one", async () => {
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: () =>
      new Response(
        new ReadableStream<Uint8Array>({
          type: "direct",
          async pull(controller) {
            const piece = new Uint8Array(64 * 1024);
            for (let count = 0; count < 64 && typeof controller.write(piece) === "number"; count += 1)
              writtenBytes += piece.length;
            stalled.resolve();
          },
        }),
      ),
  });
  let writtenBytes = 0;
  const stalled = Promise.withResolvers<void>();
  expect(boundBuffers()).toBeGreaterThanOrEqual(1);
  const client = net.connect(server.port ?? 0, "127.0.0.1");
  client.pause();
  client.write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  await stalled.promise;
  // The caller's own side of the kernel takes some more.
  expect(writtenBytes).toBeLessThan(SEND_BUFFER_BYTES * 2 + 2 * 1024 * 1024);
  client.destroy();
  await server.stop(true);
});
