/**
 * The longest wait for /healthz while callers with a key send 8 MB each to /v1 in chunks of one byte:
 * `bun bench/tiny-chunks.ts [callers]` (after `npm run build`).
 */
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { BINARY, endWithUs, freePort, readPeakMb, serve } from "./executable.ts";

const BODY_BYTES = 8_000_000;
const ROUNDS = 3;
const PAUSE_MS = 5;
const [first = "20", ...rest] = process.argv.slice(2);

if (first === "send") await sendAll(...toNumbers(rest), rest[2] ?? "");
else await measure(Number(first));

function toNumbers([port, callers]: readonly string[]): [number, number] {
  return [Number(port), Number(callers)];
}

async function measure(callers: number): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "lockport-chunks-"));
  const made = Bun.spawnSync([BINARY, "admin", "bootstrap"], {
    env: { PATH: process.env["PATH"] ?? "", PROXY_DATA_DIR: dataDir },
  });
  const key = /lp_[\w-]+/.exec(made.stdout.toString())?.[0] ?? "";
  const server = await serve(BINARY, dataDir, freePort());
  try {
    for (let round = 0; round < ROUNDS; round += 1) {
      // A process of its own, so that its work does not delay the questions.
      const cmd = [process.execPath, import.meta.path, "send", String(server.port), String(callers), key];
      const sender = endWithUs(Bun.spawn(cmd, { stdout: "pipe" }));
      const waitsMs: number[] = [];
      while (sender.exitCode === null) {
        const askedMs = performance.now();
        await (await fetch(`${server.origin}/healthz`)).text();
        waitsMs.push(performance.now() - askedMs);
        await Bun.sleep(PAUSE_MS);
      }
      waitsMs.sort((one, other) => other - one);
      const longest = waitsMs.slice(0, 3).map((waitMs) => waitMs.toFixed(0));
      console.log(
        `${callers} callers (${(await new Response(sender.stdout).text()).trim()}): /healthz waits for ${longest.join(", ")} ms at most, of ${waitsMs.length}; peak ${readPeakMb(server.pid).toFixed(0)} MB; load ${loadavg()[0]?.toFixed(1)}`,
      );
    }
  } finally {
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function sendAll(port: number, callers: number, key: string): Promise<void> {
  const body = Buffer.from(`${"1\r\nx\r\n".repeat(BODY_BYTES)}0\r\n\r\n`);
  const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost:${port}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n`;
  const send = () =>
    new Promise<string>((resolve) => {
      let answer = "";
      const socket = connect(port, "127.0.0.1", () => {
        socket.write(head);
        socket.write(body);
      });
      socket.on("data", (piece) => (answer += piece.toString()));
      socket.on("error", () => undefined);
      socket.on("close", () => resolve(answer.split(" ")[1] ?? "nothing"));
    });
  const statuses = await Promise.all(Array.from({ length: callers }, send));
  console.log([...new Set(statuses)].join(" "));
}
