/**
 * Right sign-ins by password while strangers send 20 wrong ones a second: `bun bench/sign-in-attack.ts` (after
 * `npm run build`), once with the strangers at another address, and once at the same one, as all are behind a reverse proxy.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BINARY, freePort, serve } from "./executable.ts";

const WRONG_PER_SECOND = 20;
const RIGHT_COUNT = 20;
const OWNER = "127.0.0.3";

interface Answered {
  readonly status: number;
  readonly durationMs: number;
}

function signIn(port: number, localAddress: string, password: string): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const startedMs = performance.now();
  const body = JSON.stringify({ password });
  let answer = "";
  const socket = connect({ port, host: "127.0.0.1", localAddress }, () =>
    socket.write(
      `POST /auth/password HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  );
  socket.on("data", (chunk) => (answer += chunk.toString()));
  socket.on("error", reject);
  socket.on("close", () =>
    resolve({ status: Number(answer.split(" ")[1]), durationMs: performance.now() - startedMs }),
  );
  return promise;
}

async function measure(stranger: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-attack-"));
  const server = await serve(BINARY, dataDir, freePort());
  try {
    const password = readFileSync(join(dataDir, "admin-password"), "utf8").trim();
    const wrong: Promise<Answered>[] = [];
    const timer = setInterval(
      () => wrong.push(signIn(server.port, stranger, "a wrong password")),
      1000 / WRONG_PER_SECOND,
    );
    // The burst is used up by then.
    await Bun.sleep(3000);
    const right: Promise<Answered>[] = [];
    for (let count = 0; count < RIGHT_COUNT; count += 1) {
      right.push(signIn(server.port, OWNER, password));
      await Bun.sleep(1000);
    }
    const answered = await Promise.all(right);
    clearInterval(timer);
    const statuses = (await Promise.all(wrong)).map(({ status }) => status);
    const durationsMs = answered.map(({ durationMs }) => durationMs).toSorted((one, other) => one - other);
    const isIn = answered.filter(({ status }) => status === 200);
    console.log(
      `strangers at ${stranger === OWNER ? "the same address" : "another address"}: ${isIn.length} of ${RIGHT_COUNT} right sign-ins, median ${durationsMs[RIGHT_COUNT / 2]?.toFixed(0)} ms, longest ${durationsMs.at(-1)?.toFixed(0)} ms; ${statuses.length} wrong ones, of them 401: ${statuses.filter((status) => status === 401).length}`,
    );
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

await measure("127.0.0.2");
await measure(OWNER);
