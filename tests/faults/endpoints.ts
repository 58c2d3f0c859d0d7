import type { Asking } from "./ask.ts";

/** A good answer of an upstream in its parts: together they are the whole. */
export interface Parts {
  readonly type: string;
  /** Up to where the content stands, which takes any letters and digits. */
  readonly open: string;
  readonly content: string;
  /** Everything up to the usage. */
  readonly usage: string;
  /** Usage again, with other quantities. */
  readonly usageAgain: string;
  readonly end: string;
  readonly units: Units;
  /** After `usageAgain`. */
  readonly unitsAgain: Units;
}

export interface Units {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
}

export interface Endpoint {
  readonly name: "chat" | "stream" | "embeddings" | "relay";
  /** Whether an answer is held until it is complete, so that a fault inside it is a clean 502. */
  readonly isHeld: boolean;
  readonly parts: Parts;
  ask(model: string, more: Asked): Asking;
}

export interface Asked {
  readonly key: string;
  readonly relayToken: string;
  readonly content: string;
  readonly headers: Readonly<Record<string, string>>;
}

const JSON_TYPE = "application/json";
const STREAM_TYPE = "text/event-stream";
const CONTENT = "zqcompletionofthefaultsqz";
const TOKENS = { input_tokens: 7, output_tokens: 3 };
const TOKENS_AGAIN = { input_tokens: 9, output_tokens: 5 };
const toUsage = ({ input_tokens, output_tokens }: typeof TOKENS) =>
  `"usage":{"prompt_tokens":${input_tokens},"completion_tokens":${output_tokens}}`;
const toUsageEvent = (tokens: typeof TOKENS) => `data: {"choices":[],${toUsage(tokens)}}\n\n`;
const toMessageEvent = (type: string, fields: string) =>
  `event: ${type}\ndata: {"type":"${type}",${fields}}\n\n`;

function onV1(path: string, fields: object): Endpoint["ask"] {
  return (model, { key, content, headers }) => ({
    path,
    headers: { authorization: `Bearer ${key}`, ...headers },
    body: JSON.stringify({ model, input: content, messages: [{ role: "user", content }], ...fields }),
  });
}

export const ENDPOINTS: readonly Endpoint[] = [
  {
    name: "chat",
    isHeld: true,
    parts: {
      type: JSON_TYPE,
      open: '{"choices":[{"index":0,"message":{"role":"assistant","content":"',
      content: CONTENT,
      usage: `"}}],${toUsage(TOKENS)}`,
      usageAgain: `,${toUsage(TOKENS_AGAIN)}`,
      end: "}",
      units: TOKENS,
      unitsAgain: TOKENS_AGAIN,
    },
    ask: onV1("/v1/chat/completions", {}),
  },
  {
    name: "stream",
    isHeld: false,
    parts: {
      type: STREAM_TYPE,
      open: 'data: {"choices":[{"index":0,"delta":{"content":"',
      content: CONTENT,
      usage: `"}}]}\n\n${toUsageEvent(TOKENS)}`,
      usageAgain: toUsageEvent(TOKENS_AGAIN),
      end: "data: [DONE]\n\n",
      units: TOKENS,
      unitsAgain: TOKENS_AGAIN,
    },
    ask: onV1("/v1/chat/completions", { stream: true }),
  },
  {
    name: "embeddings",
    isHeld: true,
    parts: {
      type: JSON_TYPE,
      open: '{"data":[{"index":0,"embedding":"',
      content: CONTENT,
      usage: '"}],"usage":{"prompt_tokens":7}',
      usageAgain: ',"usage":{"prompt_tokens":9}',
      end: "}",
      units: { input_tokens: 7, output_tokens: null },
      unitsAgain: { input_tokens: 9, output_tokens: null },
    },
    ask: onV1("/v1/embeddings", {}),
  },
  {
    name: "relay",
    isHeld: false,
    parts: {
      type: STREAM_TYPE,
      open: `${toMessageEvent(
        "message_start",
        '"message":{"usage":{"input_tokens":7,"output_tokens":1}}',
      )}event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"`,
      content: CONTENT,
      usage: `"}}\n\n${toMessageEvent("message_delta", '"usage":{"output_tokens":3}')}`,
      usageAgain: toMessageEvent("message_delta", '"usage":{"input_tokens":9,"output_tokens":5}'),
      end: 'event: message_stop\ndata: {"type":"message_stop"}\n\n',
      units: TOKENS,
      unitsAgain: TOKENS_AGAIN,
    },
    ask: (model, { relayToken, content, headers }) => ({
      path: `/transparent/messages/${relayToken}/v1/messages`,
      headers: { "x-api-key": "sk-ant-of-the-caller", ...headers },
      body: JSON.stringify({ model, max_tokens: 1, stream: true, messages: [{ role: "user", content }] }),
    }),
  },
];

export const toWhole = ({ open, content, usage, end }: Parts) => open + content + usage + end;
