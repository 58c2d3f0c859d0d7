import { ENDPOINT_NAMES, toRow, type EndpointName, type MeterName } from "#catalog/endpoint.ts";
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
  /** Whether `open` tells the input. */
  readonly beginsUsage?: true;
  /** Whether a caller that has `usage` has had the whole answer. */
  readonly usageIsLast?: true;
}

export interface Units {
  readonly input_tokens: number | null;
  readonly output_tokens: number | null;
}

/** How a row of the table of endpoints is asked and answers, or the relay. */
export interface Endpoint {
  /** Letters and points. */
  readonly name: string;
  readonly row: EndpointName | "relay";
  /** Whether an answer is held until it is complete, so that a fault inside it is a clean 502. */
  readonly isHeld: boolean;
  readonly parts: Parts;
  /** Whether it asks for a response that was made before, under an id of its own (`toMaking`). */
  readonly isById?: true;
  ask(model: string, more: Asked): Asking;
}

export interface Asked {
  readonly key: string;
  readonly relayToken: string;
  readonly content: string;
  /** The request sends it with what is uploaded. */
  readonly fileName: string;
  readonly headers: Readonly<Record<string, string>>;
}

const JSON_TYPE = "application/json";
const STREAM_TYPE = "text/event-stream";
/** What every answer says. */
export const CONTENT = "zqcompletionofthefaultsqz";
/** What a provider calls the answer that it keeps. */
export const RESPONSE_ID = "resp_zqidofthefaultsqz";
const TOKENS = { input_tokens: 7, output_tokens: 3 };
const TOKENS_AGAIN = { input_tokens: 9, output_tokens: 5 };
const NOTHING = { input_tokens: null, output_tokens: null };
type Tokens = typeof TOKENS;

const toUsage = ({ input_tokens, output_tokens }: Tokens) =>
  `"usage":{"prompt_tokens":${input_tokens},"completion_tokens":${output_tokens}}`;
const toOtherUsage = (tokens: Tokens) => `"usage":${JSON.stringify(tokens)}`;
const toEvent = (type: string, fields: string) => `event: ${type}\ndata: {"type":"${type}",${fields}}\n\n`;
const toResponse = (status: string, fields: string) =>
  `"id":"${RESPONSE_ID}","object":"response","status":"${status}","store":true,${fields}`;

interface Made {
  readonly open: string;
  /** Between the content and the usage. */
  readonly close: string;
  readonly end: string;
}

/** A document whose usage is a member behind its content. */
function toDocument({ open, close, end }: Made, toMember: (tokens: Tokens) => string): Parts {
  return {
    type: JSON_TYPE,
    open,
    content: CONTENT,
    usage: `${close},${toMember(TOKENS)}`,
    usageAgain: `,${toMember(TOKENS_AGAIN)}`,
    end,
    units: TOKENS,
    unitsAgain: TOKENS_AGAIN,
  };
}

/** A stream whose usage is an event. */
function toStream({ open, close, end }: Made, toUsageEvent: (tokens: Tokens) => string): Parts {
  return {
    type: STREAM_TYPE,
    open,
    content: CONTENT,
    usage: `${close}\n\n${toUsageEvent(TOKENS)}`,
    usageAgain: toUsageEvent(TOKENS_AGAIN),
    end,
    units: TOKENS,
    unitsAgain: TOKENS_AGAIN,
  };
}

/** A stream whose last event, of this type, tells the usage. */
function toTypedStream(open: string, lastType: string, toFields = toOtherUsage): Parts {
  const made = { open, close: '"}', end: ": no more\n\n" };
  return { ...toStream(made, (tokens) => toEvent(lastType, toFields(tokens))), usageIsLast: true };
}

const silent = (parts: Parts): Parts => ({ ...parts, units: NOTHING, unitsAgain: NOTHING });

const MESSAGES_STREAM: Parts = {
  ...toStream(
    {
      open: `${toEvent(
        "message_start",
        '"message":{"usage":{"input_tokens":7,"output_tokens":1}}',
      )}event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"type":"text_delta","text":"`,
      close: '"}}',
      end: toEvent("message_stop", '"x":1'),
    },
    (tokens) => toEvent("message_delta", toOtherUsage(tokens)),
  ),
  beginsUsage: true,
};

/** What each meter meets: an answer that comes whole, and a stream where there is one. A meter without them is a type error. */
const ANSWERS: { readonly [meter in MeterName]: { readonly unary: Parts; readonly stream?: Parts } } = {
  chat: {
    unary: toDocument(
      {
        open: '{"choices":[{"index":0,"message":{"role":"assistant","content":"',
        close: '"}}]',
        end: "}",
      },
      toUsage,
    ),
    stream: toStream(
      {
        open: 'data: {"choices":[{"index":0,"delta":{"content":"',
        close: '"}}]}',
        end: "data: [DONE]\n\n",
      },
      (tokens) => `data: {"choices":[],${toUsage(tokens)}}\n\n`,
    ),
  },
  responses: {
    unary: toDocument(
      { open: `{${toResponse("completed", '"output":[{"content":[{"text":"')}`, close: '"}]}]', end: "}" },
      toOtherUsage,
    ),
    stream: toTypedStream(
      `${toEvent(
        "response.created",
        `"response":{${toResponse("in_progress", '"usage":null')}}`,
      )}event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"`,
      "response.completed",
      (tokens) => `"response":{${toResponse("completed", toOtherUsage(tokens))}}`,
    ),
  },
  messages: {
    unary: toDocument(
      { open: '{"type":"message","content":[{"type":"text","text":"', close: '"}]', end: "}" },
      toOtherUsage,
    ),
    stream: MESSAGES_STREAM,
  },
  transcription: {
    unary: toDocument(
      { open: '{"text":"', close: '"', end: "}" },
      (tokens) => `"usage":${JSON.stringify({ type: "tokens", ...tokens })}`,
    ),
    stream: toTypedStream(
      'data: {"type":"transcript.text.delta","delta":"',
      "transcript.text.done",
      (tokens) => `"usage":${JSON.stringify({ type: "tokens", ...tokens })}`,
    ),
  },
  speech: {
    unary: {
      type: "audio/mpeg",
      open: `ID3${"\u0003".repeat(60)}`,
      content: CONTENT,
      usage: '"usage":{"input_tokens":7}',
      usageAgain: "\u0000",
      end: "\u0001",
      units: NOTHING,
      unitsAgain: NOTHING,
    },
    stream: toTypedStream('data: {"type":"speech.audio.delta","audio":"', "speech.audio.done"),
  },
  images: {
    unary: toDocument({ open: '{"data":[{"b64_json":"', close: '"}]', end: "}" }, toOtherUsage),
    stream: toTypedStream(
      'data: {"type":"image_generation.partial_image","b64_json":"',
      "image_generation.completed",
    ),
  },
  rerank: {
    unary: {
      ...toDocument(
        { open: '{"results":[{"index":0,"document":{"text":"', close: '"}}]', end: "}" },
        ({ input_tokens }) => `"usage":{"total_tokens":${input_tokens}}`,
      ),
      units: { input_tokens: 7, output_tokens: null },
      unitsAgain: { input_tokens: 9, output_tokens: null },
    },
  },
  counting: {
    unary: silent(toDocument({ open: '{"input_tokens":7,"x":"', close: '"', end: "}" }, toOtherUsage)),
  },
};

export const BOUNDARY = "----form-of-the-faults";

function toForm(fields: Readonly<Record<string, string>>, { content, fileName }: Asked): string {
  const parts = Object.entries(fields).map(([name, value]) => `form-data; name="${name}"\r\n\r\n${value}`);
  const file = `form-data; name="file"; filename="${fileName}"\r\nContent-Type: audio/mpeg\r\n\r\n${content}`;
  return (
    [file, ...parts].map((part) => `--${BOUNDARY}\r\nContent-Disposition: ${part}\r\n`).join("") +
    `--${BOUNDARY}--\r\n`
  );
}

function toAsk(row: EndpointName, fields: Readonly<Record<string, boolean>>): Endpoint["ask"] {
  const { path, body } = toRow(row);
  const isForm = body !== "json";
  return (model, asked) => {
    const { key, content, headers } = asked;
    const texts = Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]));
    return {
      path: `/v1${path}`,
      headers: {
        authorization: `Bearer ${key}`,
        ...(isForm && { "content-type": `multipart/form-data; boundary=${BOUNDARY}` }),
        ...headers,
      },
      body: isForm
        ? toForm({ ...texts, model, prompt: content }, asked)
        : JSON.stringify({ model, input: content, messages: [{ role: "user", content }], ...fields }),
    };
  };
}

/** Whole, and as a stream where the endpoint has one: asked for by `stream`, or, of speech, by a field that nobody reads. */
function toEndpoints(row: EndpointName): readonly Endpoint[] {
  const { meter, fields } = toRow(row);
  const { unary, stream } = ANSWERS[meter];
  const name = row.replaceAll("/", ".").replaceAll("_", "");
  const whole = { name, row, isHeld: true, parts: unary, ask: toAsk(row, {}) };
  const isStreamed = fields.includes("stream") || row === "speech";
  return stream === undefined || !isStreamed
    ? [whole]
    : [
        whole,
        { name: `${name}.stream`, row, isHeld: false, parts: stream, ask: toAsk(row, { stream: true }) },
      ];
}

const ASKED = ENDPOINT_NAMES.filter((name) => toRow(name).body !== null);
const BY_ID = ENDPOINT_NAMES.filter((name) => toRow(name).kind === "by_id");
const FOUND = silent(ANSWERS.responses.unary);

function toIdEndpoint(row: EndpointName): Endpoint {
  const { method, path } = toRow(row);
  return {
    name: row.replaceAll("/", ".").replaceAll("_", ""),
    row,
    isHeld: true,
    isById: true,
    parts: FOUND,
    ask: (_, { key, headers }) => ({
      method,
      path: `/v1${path.replace(":id", toId(headers["x-cell"] ?? ""))}`,
      headers: { authorization: `Bearer ${key}`, ...headers },
      body: "",
    }),
  };
}

const toId = (cell: string) => `${RESPONSE_ID}-${cell}`;

/** The request that makes the response which a cell asks for, and its answer. */
export function toMaking(cell: string): {
  readonly headers: Record<string, string>;
  readonly answer: string;
} {
  const { unary } = ANSWERS.responses;
  return {
    headers: { "x-made": cell, "x-proxy-tags": `id:made-${cell}` },
    answer: toWhole(unary).replace(RESPONSE_ID, toId(cell)),
  };
}

/** The first is chat. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...ASKED.flatMap(toEndpoints),
  ...BY_ID.map(toIdEndpoint),
  {
    name: "relay",
    row: "relay",
    isHeld: false,
    parts: MESSAGES_STREAM,
    ask: (model, { relayToken, content, headers }) => ({
      path: `/transparent/messages/${relayToken}/v1/messages`,
      headers: { "x-api-key": "sk-ant-of-the-caller", ...headers },
      body: JSON.stringify({ model, max_tokens: 1, stream: true, messages: [{ role: "user", content }] }),
    }),
  },
];

/** One for each meter and way of answering, the relay among them: what is dear, or waits, is tried with these. */
export const KINDS: readonly Endpoint[] = ENDPOINTS.filter(
  ({ name, parts, isById }, index) =>
    name === "relay" || (isById !== true && ENDPOINTS.findIndex((other) => other.parts === parts) === index),
);

export const toWhole = ({ open, content, usage, end }: Parts) => open + content + usage + end;
