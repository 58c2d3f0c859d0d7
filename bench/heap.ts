/** What a server allocates for a request, counted with collection off, and what a collection finds alive of each that waits. */
import { SERVER_DEFAULTS } from "#boot/relaunch.ts";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { toBare, toLockport, type Probed, type Running } from "./contenders.ts";
import type { Count } from "./probe.ts";

export const SERVERS = ["Lockport", "bare"] as const;
export type ServerName = (typeof SERVERS)[number];
export const SCENES = ["unary", "stream", "open", "open-stream"] as const;
export type SceneName = (typeof SCENES)[number];

/** What a request allocates, on average. */
export interface Allocated {
  readonly cellBytes: number;
  readonly residentBytes: number;
  readonly objects: number;
  readonly types: readonly (readonly [type: string, each: number])[];
}

const CONNECTIONS = 16;
/** Until every tier of compiled code is there, and every table has its size. */
const WARM_UP = 6_000;
/** A stream is as much work as so many short answers. */
const STREAM_WEIGHT = 4;
/** Fewer than a client's own connections to one host, which would wait for one another. */
const OPEN = 200;
const BUN = [process.execPath, "--no-env-file"];
const SOURCE = resolve(import.meta.dir, "../src/main.ts");
const PROBE = resolve(import.meta.dir, "probe.ts");

const ANSWER = JSON.stringify({
  id: "chatcmpl-bench",
  object: "chat.completion",
  created: 1_700_000_000,
  model: "bench-upstream",
  choices: [{ index: 0, message: { role: "assistant", content: "Something short." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 21, completion_tokens: 8, total_tokens: 29 },
});
const EVENT = `data: ${JSON.stringify({ id: "chatcmpl-bench", object: "chat.completion.chunk", created: 1_700_000_000, model: "bench-upstream", choices: [{ index: 0, delta: { content: "some words" }, finish_reason: null }] })}\n\n`;
const LAST = `data: ${JSON.stringify({ id: "chatcmpl-bench", choices: [], usage: { prompt_tokens: 21, completion_tokens: 8 } })}\n\ndata: [DONE]\n\n`;
/** 50 events, some to a write. */
const WRITES = [...Array.from({ length: 5 }, () => EVENT.repeat(10)), LAST].map((text) => Buffer.from(text));
const HELD_BYTES = 2 * EVENT.length * 10;
/** From then on a request is one that lasts, and its caller is watched (`LASTING_MS_MIN`). */
const LASTING_MS = 150;

/** What the writer Worker allocates for a request counts too: it commits within this. */
const WRITTEN_MS = 500;

/** True for one of requests that wait, counted behind a full collection. */
export function isOpen(scene: SceneName): boolean {
  return scene.startsWith("open");
}

/** `requests` of a scene; one of open requests has a count of its own. */
export async function measure(name: ServerName, scene: SceneName, requests: number): Promise<Allocated> {
  const upstream = new Upstream();
  const file = join(mkdtempSync(join(tmpdir(), "lockport-bench-heap-")), "count.json");
  const probed: Probed = {
    command: [...BUN, PROBE, file, name],
    env: {
      BUN_CONFIG_MAX_HTTP_REQUESTS: "65336",
      ...SERVER_DEFAULTS,
      ...(isOpen(scene) ? {} : { BUN_JSC_useGC: "0" }),
    },
  };
  const contender = name === "bare" ? toBare(probed) : toLockport([...BUN, SOURCE], name, probed);
  const server = await contender.start(upstream.origin);
  const read = async (): Promise<Count> => {
    await Bun.sleep(WRITTEN_MS);
    rmSync(file, { force: true });
    process.kill(server.pid ?? 0, isOpen(scene) ? "SIGUSR1" : "SIGUSR2");
    while (!existsSync(file)) await Bun.sleep(5);
    return JSON.parse(readFileSync(file, "utf8")) as Count;
  };
  try {
    const isStream = scene.endsWith("stream");
    await load(server, isStream ? WARM_UP / STREAM_WEIGHT : WARM_UP, isStream);
    const before = await read();
    if (!isOpen(scene)) {
      await load(server, requests, isStream);
      return toAllocated(before, await read(), requests);
    }
    upstream.hold(OPEN);
    const asked = Array.from({ length: OPEN }, () => ask(server, isStream));
    await upstream.allHeld.promise;
    const readers = isStream ? await Promise.all(asked.map(readHeld)) : [];
    const after = await read();
    upstream.letGo.resolve();
    for (const reader of readers) while (!(await reader.read()).done);
    if (!isStream) for (const each of asked) await (await each).arrayBuffer();
    return toAllocated(before, after, OPEN);
  } finally {
    await server.stop();
    await upstream.stop();
    rmSync(join(file, ".."), { recursive: true, force: true });
  }
}

/** The reader of a stream of which all has come that is sent before it is held. */
async function readHeld(
  asked: Promise<Response>,
): Promise<Pick<ReadableStreamDefaultReader<Uint8Array>, "read">> {
  const reader = (await asked).body!.getReader();
  for (let left = HELD_BYTES; left > 0;) left -= (await reader.read()).value!.length;
  return reader;
}

/** Answers at once, or holds so many requests until they are let go: before their answer, or behind the second write of a stream. */
class Upstream {
  readonly allHeld = Promise.withResolvers<void>();
  readonly letGo = Promise.withResolvers<void>();
  #toHold = 0;
  readonly #server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: (request) => this.#answer(request),
  });

  get origin(): string {
    return `http://127.0.0.1:${this.#server.port}`;
  }

  hold(count: number): void {
    this.#toHold = count;
  }

  async stop(): Promise<void> {
    await this.#server.stop(true);
  }

  async #answer(request: Request): Promise<Response> {
    const { stream = false } = (await request.json()) as { stream?: boolean };
    const isHeld = this.#toHold > 0;
    if (isHeld) this.#toHold -= 1;
    if (isHeld && this.#toHold === 0) this.allHeld.resolve();
    const letGo = isHeld ? this.letGo.promise : null;
    if (!stream) await letGo;
    if (!stream) return new Response(ANSWER, { headers: { "content-type": "application/json" } });
    const pieces = async function* () {
      for (const [index, piece] of WRITES.entries()) {
        yield piece;
        await (letGo !== null && index === 1 ? letGo : Bun.sleep(letGo === null ? 0 : LASTING_MS));
      }
    };
    return new Response(pieces(), { headers: { "content-type": "text/event-stream" } });
  }
}

function ask({ port, headers, model }: Running, stream: boolean): Promise<Response> {
  const messages = [
    { role: "system", content: "You are terse." },
    { role: "user", content: "Say something short, please. ".repeat(30) },
  ];
  const [, authorization = ""] = /^authorization: (.*)\r\n/.exec(headers) ?? [];
  return fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization, "content-type": "application/json", "user-agent": "OpenAI/Python 2.1.0" },
    body: JSON.stringify({ model, stream, messages }),
  });
}

/** So many requests, some at once, read to their end. */
async function load(server: Running, count: number, stream: boolean): Promise<void> {
  let left = count;
  const one = async () => {
    while (left > 0) {
      left -= 1;
      const response = await ask(server, stream);
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      await response.arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, one));
}

function toAllocated(before: Count, after: Count, count: number): Allocated {
  const types = Object.entries(after.objects)
    .map(([type, of]) => [type, (of - (before.objects[type] ?? 0)) / count] as const)
    .filter(([, each]) => each >= 0.05)
    .toSorted(([, left], [, right]) => right - left);
  return {
    cellBytes: (after.cellBytes - before.cellBytes) / count,
    residentBytes: (after.residentBytes - before.residentBytes) / count,
    objects: types.reduce((sum, [, each]) => sum + each, 0),
    types,
  };
}
