/**
 * The cost of metering: `bun bench/meter.ts [PART OF A NAME]`, pinned to a core that is quiet. µs for
 * an answer or an event, the fastest and the median of many short turns; bytes of heap for an open stream. Run it in two
 * checkouts, in turns, to compare them.
 */
import { heapStats } from "bun:jsc";
import { toAttribution } from "#forward/attribution.ts";
import { priceUsage } from "#usage/cost.ts";
import { createChatMeter } from "#usage/meter-chat.ts";
import { createMessagesMeter } from "#usage/meter-messages.ts";
import type { Meter } from "#usage/meter.ts";
import { createUsageMetrics } from "#usage/metrics.ts";
import { percentile } from "./table.ts";

const EVENTS = 200;
const READ_BYTES = 1460;
const TURNS = 60;
const TURN_MS = 5;
const OPEN_STREAMS = 10_000;

const usage = { prompt_tokens: 19, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 8 } };
const prices = { input_tokens: 150_000, output_tokens: 600_000, cached_input_tokens: 75_000 };
const words = 'The quick brown fox "jumps" over\nthe lazy dog, and its usage is no error'.split(" ");
const encode = (text: string) => new TextEncoder().encode(text);

function toAnswer(content: string): Uint8Array {
  const choice = { index: 0, message: { role: "assistant", content, refusal: null }, finish_reason: "stop" };
  const head = { id: "chatcmpl-Ab12Cd34Ef56", object: "chat.completion", created: 1_760_000_000 };
  return encode(JSON.stringify({ ...head, model: "gpt-4o-mini-2024-07-18", choices: [choice], usage }));
}

function toStream(toEvent: (word: string) => string, last: readonly string[]): Uint8Array[] {
  const events = Array.from({ length: EVENTS }, (_, index) => toEvent(` ${words[index % words.length]}`));
  return [...events, ...last].map(encode);
}

const toChunk = (members: object) => {
  const head = { id: "chatcmpl-Ab12Cd34Ef56", object: "chat.completion.chunk", created: 1_760_000_000 };
  return `data: ${JSON.stringify({ ...head, model: "gpt-4o", ...members })}\n\n`;
};
const toDelta = (content: string) => ({ choices: [{ index: 0, delta: { content } }] });
const toNamed = (event: { readonly type: string; readonly [member: string]: unknown }) =>
  `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
const chatEnd = [toChunk({ choices: [], usage }), "data: [DONE]\n\n"];
const chat = toStream((word) => toChunk(toDelta(word)), chatEnd);
const chatWithNulls = toStream((word) => toChunk({ ...toDelta(word), usage: null }), chatEnd);
const messages = toStream(
  (text) => toNamed({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } }),
  [toNamed({ type: "message_delta", usage: { output_tokens: 200 } }), toNamed({ type: "message_stop" })],
);

function inReads(pieces: readonly Uint8Array[]): Uint8Array[] {
  const whole = new Uint8Array(Buffer.concat(pieces));
  return Array.from({ length: Math.ceil(whole.length / READ_BYTES) }, (_, index) =>
    whole.subarray(index * READ_BYTES, (index + 1) * READ_BYTES),
  );
}

function readAll(meter: Meter, pieces: readonly Uint8Array[]) {
  for (const piece of pieces) meter.push(piece);
  return meter.finish();
}

const openUnary = () => createChatMeter({ streamed: false, statusCode: 200 });
const counter = createUsageMetrics().open({ endpoint: "chat", provider: "up", model: "m" });

function accountFor(answer: Uint8Array): void {
  const read = readAll(openUnary(), [answer]);
  counter.count({
    statusCode: 200,
    outcome: "ok",
    errorKind: read.errorKind,
    durationUs: 1_500,
    timeToFirstByteUs: 900,
    usage: read.usage,
    prices,
    ...priceUsage(read.usage, prices),
  });
}

const openChat = () => createChatMeter({ streamed: true, statusCode: 200 });
const openMessages = () => createMessagesMeter({ streamed: true, statusCode: 200, counting: false });
const short = toAnswer("Hello! How can I help you today?");
const long = toAnswer(words.join(" ").repeat(140));
const vector = Array.from({ length: 256 }, (_, index) => Math.sin(index) / 30);
const data = Array.from({ length: 64 }, (_, index) => ({ object: "embedding", index, embedding: vector }));
const embeddings = encode(JSON.stringify({ object: "list", data, usage }));
const chatReads = inReads(chat);
const headers = new Headers({ "user-agent": "OpenAI/Python 1.52.0", "x-proxy-tags": "app:search,team:core" });

const scenes: readonly (readonly [name: string, each: number, run: () => unknown])[] = [
  ["answer of 400 bytes: meter, cost, metrics", 1, () => accountFor(short)],
  ["answer of 10 KB: meter, cost, metrics", 1, () => accountFor(long)],
  ["answer of 350 KB: 64 embeddings", 1, () => readAll(openUnary(), [embeddings])],
  ["chat event", EVENTS, () => readAll(openChat(), chat)],
  ["chat event with a null usage", EVENTS, () => readAll(openChat(), chatWithNulls)],
  ["chat event, 1,460 bytes a read", EVENTS, () => readAll(openChat(), chatReads)],
  ["messages event", EVENTS, () => readAll(openMessages(), messages)],
  ["client and tags", 1, () => toAttribution(headers, [])],
];

for (const [name, each, run] of scenes) {
  if (!name.includes(process.argv[2] ?? "")) continue;
  const timesUs = Array.from({ length: TURNS }, () => {
    const beganMs = performance.now();
    let runs = 0;
    for (; performance.now() - beganMs < TURN_MS; runs += 1) run();
    return ((performance.now() - beganMs) * 1000) / runs / each;
  });
  const figures = [Math.min(...timesUs), percentile(timesUs, 0.5)].map((us) => us.toFixed(3).padStart(8));
  console.log(`${name.padEnd(44)}${figures.join(" ")} µs`);
}

function countOpenStream(): number {
  Bun.gc(true);
  const before = heapStats().heapSize;
  const open = Array.from({ length: OPEN_STREAMS }, () => {
    const meter = openChat();
    for (const piece of chat.slice(0, 1)) meter.push(piece);
    return meter;
  });
  Bun.gc(true);
  return (heapStats().heapSize - before) / open.length;
}

console.log(`an open stream: ${countOpenStream().toFixed(0)} bytes of heap`);
