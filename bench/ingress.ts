/**
 * What reading and splicing a request body costs: `bun bench/ingress.ts`. Bounded: a few seconds, one core, no sockets.
 * JSON.parse and JSON.stringify of the same body stand beside it.
 */
import { parseRequestBody, spliceBody, toJsonText } from "../src/forward/request-body.ts";

const BODIES: readonly { readonly name: string; readonly body: Uint8Array; readonly rounds: number }[] = [
  { name: "1 KB chat", body: toChat(1_000), rounds: 200_000 },
  { name: "1 KB chat, streamed", body: toChat(1_000, true), rounds: 200_000 },
  { name: "100 KB chat", body: toChat(100_000), rounds: 2_000 },
  { name: "5 MB, one base64 picture", body: toPicture(5_000_000), rounds: 60 },
  { name: "5 MB chat", body: toChat(5_000_000), rounds: 40 },
  { name: "60 MB of escaped keys", body: toKeys(60_000_000, '"\\u0061":1,'), rounds: 10 },
  { name: "60 MB of keys that begin like a name", body: toKeys(60_000_000, '"strea\\u006e":1,'), rounds: 10 },
  { name: "60 MB of plain keys", body: toKeys(60_000_000, '"a":1,'), rounds: 10 },
];

for (const { name, body, rounds } of BODIES) {
  const scan = measure(rounds, () => parseRequestBody(body, "chat"));
  const both = measure(rounds, () =>
    spliceBody(parseRequestBody(body, "chat"), toJsonText("meta-llama/Llama-3.3-70B-Instruct")),
  );
  const parse = measure(rounds, () => JSON.stringify(JSON.parse(Buffer.from(body).toString())));
  console.log(`${name}: scan ${scan} µs, scan and splice ${both} µs (parse and stringify ${parse} µs)`);
}

function measure(rounds: number, run: () => unknown): string {
  for (let round = 0; round < rounds / 4; round += 1) run();
  const samples: number[] = [];
  for (let sample = 0; sample < 5; sample += 1) {
    const startMs = performance.now();
    for (let round = 0; round < rounds / 5; round += 1) run();
    samples.push(((performance.now() - startMs) * 1_000) / (rounds / 5));
  }
  return (samples.sort((left, right) => left - right)[2] ?? Number.NaN).toFixed(2);
}

function toChat(sizeBytes: number, stream = false): Uint8Array {
  const messages: { role: string; content: string }[] = [];
  for (let size = 100; size < sizeBytes; size += 240) {
    messages.push({
      role: messages.length % 2 === 0 ? "user" : "assistant",
      content: `Line one of a message.\nIt says "something" of no importance, ${"and then some more ".repeat(6)}end of it.`,
    });
  }
  return Buffer.from(
    JSON.stringify({ model: "team/chat", ...(stream ? { stream: true } : {}), temperature: 0.7, messages }),
  );
}

function toPicture(sizeBytes: number): Uint8Array {
  const url = `data:image/png;base64,${"iVBORw0KGgoAAAANSUhEUgAA".repeat(sizeBytes / 24)}`;
  return Buffer.from(
    JSON.stringify({
      model: "team/chat",
      messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }],
    }),
  );
}

/** An object of very many fields, none of which is looked for. */
function toKeys(sizeBytes: number, field: string): Uint8Array {
  return Buffer.from(`{${field.repeat(sizeBytes / field.length)}"model":"team/chat"}`);
}
