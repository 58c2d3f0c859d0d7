import type { UpstreamCall } from "../support/upstream.ts";
import {
  begin,
  brokenOff,
  nothingMetered,
  passed,
  refused,
  sendInChunks,
  type Behaviour,
} from "./behaviour.ts";
import { toWhole, type Parts } from "./endpoints.ts";

const TRICKLE_MS = 50;
/** Together longer than a held answer may take. */
const TRICKLES = 45;
const LINE_BYTES = 10 * 1024 * 1024;
const BOMB = Bun.gzipSync(Buffer.alloc(32 * 1024 * 1024, " "));
const WORDS = "héllo — 世界 🌍";
const COMPLAINT = '{"error":{"type":"rate_limit_error","message":"slow down"}}';
const PAGE = "<html><body>Bad gateway</body></html>";

const withLength = (call: UpstreamCall, { type }: Parts, length: number, ...headers: readonly string[]) =>
  call.send(
    [`HTTP/1.1 200 OK`, `content-type: ${type}`, ...headers, `content-length: ${length}`, "", ""].join(
      "\r\n",
    ),
  );
const toLatin1 = (bytes: Uint8Array | string) => Buffer.from(bytes).toString("latin1");
const withContent = (parts: Parts, content: string): Parts => ({ ...parts, content });

/** Upstreams whose head is good. What they do not end is a clean 502 where it is held, and broken off where it is not. */
export const BODIES: readonly Behaviour[] = [
  {
    name: "stops after its head",
    play: begin,
    expect: refused("timeout"),
    limit: () => "read",
  },
  {
    name: "stops inside its body",
    play: async (call, parts) => (await begin(call, parts), await call.sendChunk(parts.open)),
    expect: brokenOff("timeout"),
    limit: () => "read",
  },
  {
    name: "trickles, never silent for long, for longer than a held answer may take",
    play: async (call, parts) => {
      await begin(call, parts);
      const pieces = toWhole(parts).match(/[^]{1,2}/g) ?? [];
      for (const [index, piece] of pieces.entries()) {
        if (!(await call.sendChunk(piece))) return;
        if (index < TRICKLES) await Bun.sleep(TRICKLE_MS);
      }
      await call.endStream();
    },
    expect: (endpoint) => (endpoint.isHeld ? refused("timeout")() : passed()(endpoint)),
    limit: ({ isHeld }) => (isHeld ? "read" : null),
  },
  {
    name: "closes before the length that it told",
    play: async (call, parts) => {
      await withLength(call, parts, 9_999);
      await call.send(parts.open);
      call.finish();
    },
    expect: brokenOff(),
  },
  {
    name: "resets inside its body",
    play: async (call, parts) => {
      await begin(call, parts);
      await call.sendChunk(parts.open);
      await Bun.sleep(TRICKLE_MS);
      call.reset();
    },
    expect: brokenOff(),
  },
  {
    name: "closes inside a chunk",
    play: async (call, parts) => {
      await begin(call, parts);
      await call.send(`ffff\r\n${parts.open}`);
      call.finish();
    },
    expect: brokenOff(),
  },
  {
    name: "closes without a last chunk",
    play: async (call, parts) => {
      await begin(call, parts);
      await call.sendChunk(toWhole(parts));
      call.finish();
    },
    expect: brokenOff(),
  },
  {
    name: "begins with a chunk that has no size",
    play: async (call, parts) => (await begin(call, parts), await call.send("zz\r\nxx\r\n")),
    expect: refused(),
  },
  {
    name: "sends a chunk without a size after a good one",
    play: async (call, parts) => {
      await begin(call, parts);
      await call.sendChunk(parts.open);
      await Bun.sleep(TRICKLE_MS);
      await call.send("zz\r\nxx\r\n");
    },
    expect: brokenOff(),
  },
  {
    name: "sends more than the length that it told",
    play: async (call, parts) => {
      const whole = toWhole(parts);
      await withLength(call, parts, whole.length);
      await call.send(`${whole}HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nextra`);
    },
    expect: passed(),
  },
  {
    name: "tells no length and closes at the end",
    play: async (call, parts) => {
      await call.send(`HTTP/1.0 200 OK\r\ncontent-type: ${parts.type}\r\n\r\n${toWhole(parts)}`);
      call.finish();
    },
    expect: passed(),
  },
  {
    name: "never ends",
    isDear: true,
    play: async (call, parts) => {
      const piece = `${parts.open}${"x".repeat(256 * 1024)}`;
      await begin(call, parts);
      while (await call.sendChunk(piece));
    },
    expect: ({ isHeld }) => (isHeld ? refused("response_too_large")() : { kind: "left" }),
  },
  {
    name: "sends a bomb of gzip",
    isDear: true,
    play: async (call, parts) => {
      await withLength(call, parts, BOMB.length, "content-encoding: gzip");
      await call.send(BOMB);
    },
    expect: passed({ body: () => toLatin1(BOMB), units: nothingMetered }),
  },
  {
    name: "says gzip and sends none",
    play: async (call, parts) => {
      const whole = toWhole(parts);
      await withLength(call, parts, whole.length, "content-encoding: gzip");
      await call.send(whole);
    },
    expect: passed({ units: nothingMetered }),
  },
  {
    name: "answers 204 with a body",
    play: (call) => call.send("HTTP/1.1 204 No Content\r\ncontent-length: 5\r\n\r\nhello"),
    expect: passed({ status: 204, body: () => "", units: nothingMetered }),
  },
  {
    name: "redirects",
    play: (call) =>
      call.reply({ status: 307, headers: ["location: http://127.0.0.1:9/elsewhere"], body: "moved" }),
    expect: passed({ status: 307, body: () => "moved", units: nothingMetered }),
  },
  {
    name: "answers 429",
    play: (call) => call.reply({ status: 429, body: COMPLAINT }),
    expect: passed({
      status: 429,
      body: () => COMPLAINT,
      errorKind: "rate_limit_error",
      units: nothingMetered,
    }),
  },
  {
    name: "answers 502 with a page",
    play: (call) => call.reply({ status: 502, headers: ["content-type: text/html"], body: PAGE }),
    expect: passed({ status: 502, body: () => PAGE, errorKind: "http_502", units: nothingMetered }),
  },
  {
    name: "answers 200 with nothing but an error",
    play: (call) => call.reply({ body: COMPLAINT }),
    expect: passed({ body: () => COMPLAINT, errorKind: "rate_limit_error", units: nothingMetered }),
  },
  {
    name: "sends nothing after a good head",
    play: (call, parts) => withLength(call, parts, 0),
    expect: passed({ body: () => "", units: nothingMetered }),
  },
  {
    name: "leaves the end of its answer away",
    play: (call, parts) => sendInChunks(call, parts, [parts.open, parts.content, parts.usage]),
    expect: ({ isHeld, parts }) => ({
      kind: "passed",
      status: 200,
      body: parts.open + parts.content + parts.usage,
      outcome: "ok",
      errorKind: null,
      // A document that is cut is none, events are.
      units: isHeld ? null : parts.units,
    }),
  },
  {
    name: "tells usage twice",
    play: (call, { usageAgain, ...parts }) => {
      const { open, content, usage, end } = parts;
      return sendInChunks(call, { ...parts, usageAgain }, [open, content, usage, usageAgain, end]);
    },
    expect: passed({
      body: ({ open, content, usage, usageAgain, end }) => open + content + usage + usageAgain + end,
      units: ({ unitsAgain }) => unitsAgain,
    }),
  },
  {
    name: "sends a line of 10 MB",
    isDear: true,
    play: async (call, parts) => {
      const whole = toWhole(withContent(parts, "y".repeat(LINE_BYTES)));
      await withLength(call, parts, whole.length);
      await call.send(whole);
    },
    expect: passed({ body: (parts) => toWhole(withContent(parts, "y".repeat(LINE_BYTES))) }),
  },
  {
    name: "cuts every byte into a chunk of its own, within characters of UTF-8",
    isDear: true,
    play: (call, parts) =>
      sendInChunks(
        call,
        parts,
        Array.from(Buffer.from(toWhole(withContent(parts, WORDS))), (byte) => Uint8Array.of(byte)),
      ),
    expect: passed({ body: (parts) => toLatin1(toWhole(withContent(parts, WORDS))) }),
  },
  {
    name: "ends its lines with CR alone",
    play: (call, parts) => sendInChunks(call, parts, [toWhole(parts).replaceAll("\n", "\r")]),
    expect: passed({ body: (parts) => toWhole(parts).replaceAll("\n", "\r") }),
  },
];
