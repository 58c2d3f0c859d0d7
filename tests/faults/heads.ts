import { RESPONSE_HEAD_BYTES_MAX } from "#forward/upstream.ts";
import { passed, refused, type Behaviour } from "./behaviour.ts";
import { toWhole } from "./endpoints.ts";

const FILLER = "x".repeat(10_000);
const unary = () => "read" as const;

/** Upstreams that do not come to the end of a head, or whose head is none. */
export const HEADS: readonly Behaviour[] = [
  { name: "closes without a word", play: (call) => call.finish(), expect: refused() },
  { name: "resets without a word", play: (call) => call.reset(), expect: refused() },
  { name: "says nothing", play: () => undefined, expect: refused("timeout"), limit: unary },
  {
    name: "resets inside its head",
    play: async (call) => (await call.send("HTTP/1.1 200 OK\r\ncontent-ty"), call.reset()),
    expect: refused(),
  },
  {
    name: "closes inside its head",
    play: async (call) => (await call.send("HTTP/1.1 200 OK\r\ncontent-ty"), call.finish()),
    expect: refused(),
  },
  {
    name: "stops inside its head",
    play: (call) => call.send("HTTP/1.1 200 OK\r\ncontent-ty"),
    expect: refused("timeout"),
    limit: unary,
  },
  {
    name: "sends garbage",
    play: async (call) => (await call.send("\u0000\u0001garbage\r\n\r\n"), call.finish()),
    expect: refused(),
  },
  {
    name: "answers without a head, as HTTP/0.9 did",
    play: async (call) => (await call.send("<html>hello</html>"), call.finish()),
    expect: refused(),
  },
  {
    name: "switches protocols",
    play: (call) => call.send("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"),
    expect: refused(),
  },
  {
    name: "sends 100, 102 and 103 before its answer",
    play: async (call, parts) => {
      await call.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n");
      await call.send("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n");
      await call.reply({ headers: [`content-type: ${parts.type}`], body: toWhole(parts) });
    },
    expect: passed(),
  },
  {
    name: "answers 999",
    play: (call) => call.reply({ status: 999, body: "x" }),
    expect: refused(),
  },
  {
    name: "has one header of over 64 KiB",
    play: (call) => call.reply({ headers: [`x-huge: ${"x".repeat(RESPONSE_HEAD_BYTES_MAX)}`], body: "x" }),
    expect: refused(),
  },
  {
    name: "has a megabyte of headers",
    play: (call) => call.reply({ headers: Array(100).fill(`x-huge: ${FILLER}`), body: "x" }),
    expect: refused(),
  },
  {
    name: "has a thousand headers",
    play: (call) =>
      call.reply({ headers: Array.from({ length: 1_000 }, (_, index) => `x-${index}: 1`), body: "x" }),
    expect: refused(),
  },
  {
    name: "has two lengths that differ",
    play: (call) => call.send("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx"),
    expect: refused(),
  },
  {
    name: "has a length below zero",
    play: (call) => call.send("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nxx"),
    expect: refused(),
  },
];
