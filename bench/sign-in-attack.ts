/**
 * Right sign-ins by password while strangers send 20 wrong ones a second: `bun bench/sign-in-attack.ts` (after
 * `npm run build`), with the strangers at another address, and at the same one, as all are behind a reverse proxy: from a
 * browser that signed in before, from one that did not, and from one that nothing tells from the strangers.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BINARY, freePort, serve } from "./executable.ts";

const WRONG_PER_SECOND = 20;
const RIGHT_COUNT = 20;
const OWNER = "127.0.0.3";

interface Asked {
  readonly password: string;
  /** Lines of the request's head. */
  readonly headers?: string;
}

interface Answered {
  readonly status: number;
  readonly deviceCookie: string | null;
  readonly durationMs: number;
}

function signIn(port: number, localAddress: string, { password, headers = "" }: Asked): Promise<Answered> {
  const { promise, resolve, reject } = Promise.withResolvers<Answered>();
  const startedMs = performance.now();
  const body = JSON.stringify({ password });
  let answer = "";
  const socket = connect({ port, host: "127.0.0.1", localAddress }, () =>
    socket.write(
      `POST /auth/password HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n${headers}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    ),
  );
  socket.on("data", (chunk) => (answer += chunk.toString()));
  socket.on("error", reject);
  socket.on("close", () =>
    resolve({
      status: Number(answer.split(" ")[1]),
      deviceCookie: /proxy_device=[^;]+/.exec(answer)?.[0] ?? null,
      durationMs: performance.now() - startedMs,
    }),
  );
  return promise;
}

const BROWSER = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0\r\n";

interface Scene {
  readonly name: string;
  readonly stranger: string;
  readonly hasDevice?: boolean;
  /** Lines of the head of a right sign-in. */
  readonly headers?: string;
}

async function measure({ name, stranger, hasDevice = false, headers = "" }: Scene): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-attack-"));
  const server = await serve(BINARY, dataDir, freePort());
  try {
    const password = readFileSync(join(dataDir, "admin-password"), "utf8").trim();
    const before = hasDevice ? await signIn(server.port, OWNER, { password }) : null;
    const own = before === null ? headers : `${headers}Cookie: ${before.deviceCookie}\r\n`;
    const wrong: Promise<Answered>[] = [];
    const timer = setInterval(
      () => wrong.push(signIn(server.port, stranger, { password: `a wrong password ${wrong.length}` })),
      1000 / WRONG_PER_SECOND,
    );
    // The burst is used up by then.
    await Bun.sleep(3000);
    const right: Promise<Answered>[] = [];
    for (let count = 0; count < RIGHT_COUNT; count += 1) {
      right.push(signIn(server.port, OWNER, { password, headers: own }));
      // Not at the same moment of each second, at which the strangers' line has a place or has none.
      await Bun.sleep(900 + 10 * count);
    }
    const answered = await Promise.all(right);
    clearInterval(timer);
    const statuses = (await Promise.all(wrong)).map(({ status }) => status);
    const durationsMs = answered.map(({ durationMs }) => durationMs).toSorted((one, other) => one - other);
    const isIn = answered.filter(({ status }) => status === 200);
    console.log(
      `${name}: ${isIn.length} of ${RIGHT_COUNT} right sign-ins, median ${durationsMs[RIGHT_COUNT / 2]?.toFixed(0)} ms, longest ${durationsMs.at(-1)?.toFixed(0)} ms; ${statuses.length} wrong ones, of them 401: ${statuses.filter((status) => status === 401).length}`,
    );
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

await measure({ name: "strangers at another address", stranger: "127.0.0.2" });
await measure({
  name: "the same address, a browser that signed in before",
  stranger: OWNER,
  hasDevice: true,
});
await measure({ name: "the same address, a browser's first sign-in", stranger: OWNER, headers: BROWSER });
await measure({ name: "the same address, a first sign-in that looks like the strangers'", stranger: OWNER });
