/**
 * CPU of the executable for one event of a stream, relayed and through `/v1`, in turns in one run:
 * `bun bench/relay.ts` (after `npm run build`). Events of one length, 20 streams at a steady pace.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BINARY, endWithUs } from "./executable.ts";
import { readCpuMs, untilListening } from "./peers.ts";
import { percentile } from "./wire.ts";

const PORT = 18_500;
const STREAMS = 20;
const EVENTS = 4_000;
const PACE_MS = 1;
const ROUNDS = 5;

const TEXT = "a few more words of the answer";
const CHAT_EVENT = `data: ${JSON.stringify({ id: "chatcmpl-bench-0001", object: "chat.completion.chunk", created: 1_700_000_000, model: "bench", choices: [{ index: 0, delta: { content: TEXT }, finish_reason: null }] })}\n\n`;
const MESSAGES_HEAD = "event: content_block_delta\ndata: ";
const messagesEvent = (text: string) =>
  `${MESSAGES_HEAD}${JSON.stringify({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })}\n\n`;
/** As long as the other, so that both cost the same to copy. */
const MESSAGES_EVENT = messagesEvent(
  TEXT.padEnd(TEXT.length + CHAT_EVENT.length - messagesEvent(TEXT).length),
);

const encoder = new TextEncoder();
/** Nobody is sent anything before everybody is there. */
class Meeting {
  readonly #met = Promise.withResolvers<void>();
  #present = 0;

  arrive(): Promise<void> {
    this.#present += 1;
    if (this.#present === STREAMS) this.#met.resolve();
    return this.#met.promise;
  }
}
let allOpen = new Meeting();
const upstream = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  development: false,
  idleTimeout: 0,
  fetch(request) {
    const event = encoder.encode(
      new URL(request.url).pathname.endsWith("/messages") ? MESSAGES_EVENT : CHAT_EVENT,
    );
    const body = new ReadableStream({
      type: "direct",
      async pull(controller: ReadableStreamDirectController) {
        await allOpen.arrive();
        for (let sent = 0; sent < EVENTS; sent += 1) {
          await controller.write(event);
          await controller.flush();
          await Bun.sleep(PACE_MS);
        }
        controller.close();
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  },
});
const origin = `http://127.0.0.1:${upstream.port}`;
const dataDir = mkdtempSync(join(tmpdir(), "lockport-bench-relay-"));
const env = {
  PATH: process.env["PATH"] ?? "",
  PROXY_DATA_DIR: dataDir,
  PROXY_PORT: String(PORT),
  PROXY_MESSAGES_BASE_URL: origin,
  PROXY_LOG: "warn",
};
const child = endWithUs(Bun.spawn([BINARY, "serve"], { env, stdio: ["ignore", "ignore", "inherit"] }));
try {
  await untilListening(PORT);
  const bootstrap = Bun.spawnSync([BINARY, "admin", "bootstrap", "--json"], { env, stderr: "inherit" });
  const { key } = JSON.parse(bootstrap.stdout.toString()) as { key: string };
  const post = async (path: string, body: unknown) => {
    const response = await fetch(`http://127.0.0.1:${PORT}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  await post("/admin/v1/providers", { name: "bench", base_url: `${origin}/v1` });
  await post("/admin/v1/models", { alias: "bench", provider: "bench", upstream_name: "bench" });
  const { token } = (await (await post("/my/relay-tokens", {})).json()) as { token: string };
  const paths = { "/v1": "/v1/chat/completions", relay: `/transparent/messages/${token}/v1/messages` };

  const measure = async (path: string): Promise<number> => {
    allOpen = new Meeting();
    const before = readCpuMs(child.pid);
    const body = { model: "bench", stream: true, messages: [] };
    const sizes = await Promise.all(
      Array.from({ length: STREAMS }, async () => (await (await post(path, body)).bytes()).length),
    );
    if (sizes.some((bytes) => bytes !== CHAT_EVENT.length * EVENTS)) throw new Error("events are missing");
    return ((readCpuMs(child.pid) - before) * 1000) / (STREAMS * EVENTS);
  };
  const seen: { readonly [name in keyof typeof paths]: number[] } = { "/v1": [], relay: [] };
  await measure(paths["/v1"]);
  await measure(paths.relay);
  for (let round = 0; round < ROUNDS; round += 1) {
    seen["/v1"].push(await measure(paths["/v1"]));
    seen.relay.push(await measure(paths.relay));
  }
  for (const [name, costs] of Object.entries(seen)) {
    console.log(`${name}: ${costs.map((cost) => cost.toFixed(2)).join(" ")} µs of CPU an event`);
  }
  const ratio = percentile(seen.relay, 0.5) / percentile(seen["/v1"], 0.5);
  console.log(`relay : /v1, medians: ${ratio.toFixed(3)} (${CHAT_EVENT.length} bytes an event)`);
} finally {
  child.kill();
  await child.exited;
  await upstream.stop(true);
  rmSync(dataDir, { recursive: true, force: true });
}
