import { toErrorKind } from "#usage/error-kind.ts";
import { isJsonObject, type JsonObject, parseJson } from "#usage/json.ts";
import { createSseParser } from "#usage/sse.ts";
import { ApiFailure } from "./failure.ts";

/** A piece of an answer: its text, or what a model says of its thinking. */
export interface ChatDelta {
  readonly kind: "text" | "reasoning";
  readonly text: string;
}

export interface ChatReaderOptions {
  /** Whether the answer is `text/event-stream`. */
  readonly streamed: boolean;
  readonly status: number;
  readonly onDelta: (delta: ChatDelta) => void;
}

/** Bytes of a chat answer in, its texts out, as they come. */
export interface ChatReader {
  /** Throws the `ApiFailure` of an error within a stream. */
  push(bytes: Uint8Array): void;
  /** Called once, after the last byte. Throws as `push` does. */
  finish(): { readonly finishReason: string | null };
}

/** Providers disagree on the name of the thinking. */
const REASONING_FIELDS = ["reasoning_content", "reasoning"] as const;

/** Reads chat completions: deltas of `choices`, or the whole message. */
export function createChatReader(options: ChatReaderOptions): ChatReader {
  const { status, onDelta } = options;
  let finishReason: string | null = null;
  const readMessage = (message: JsonObject) => {
    if (isJsonObject(message["error"])) {
      throw toUpstreamFailure(status, message, JSON.stringify(message));
    }
    const choices = message["choices"];
    const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
    if (!isJsonObject(choice)) return;
    const part = choice["delta"] ?? choice["message"];
    if (isJsonObject(part)) tellTexts(part, onDelta);
    if (typeof choice["finish_reason"] === "string") finishReason = choice["finish_reason"];
  };
  return createReader(options, readMessage, () => finishReason);
}

/** Events that carry a piece of text, by what it is (`ResponseStreamEvent` of openai 7.57). */
const DELTA_KINDS: ReadonlyMap<unknown, ChatDelta["kind"]> = new Map([
  ["response.output_text.delta", "text"],
  ["response.refusal.delta", "text"],
  ["response.reasoning_text.delta", "reasoning"],
  ["response.reasoning_summary_text.delta", "reasoning"],
]);

/** Reads the Responses API: events of a stream, whose last ones hold the whole response, or that response alone. */
export function createResponseReader(options: ChatReaderOptions): ChatReader {
  const { streamed, status, onDelta } = options;
  let finishReason: string | null = null;
  const readResponse = (response: JsonObject) => {
    const { error, status: ended, incomplete_details: details } = response;
    if (isJsonObject(error) || ended === "failed") {
      throw toUpstreamFailure(status, { error }, JSON.stringify(response));
    }
    if (typeof ended !== "string" || ended === "in_progress" || ended === "queued") return;
    const reason = isJsonObject(details) ? details["reason"] : null;
    finishReason = typeof reason === "string" ? reason : ended;
  };
  const readMessage = (message: JsonObject) => {
    const { type, delta, response } = message;
    if (type === "error" || (type === undefined && isJsonObject(message["error"]))) {
      throw toUpstreamFailure(status, message, JSON.stringify(message));
    }
    const kind = DELTA_KINDS.get(type);
    if (kind !== undefined && typeof delta === "string" && delta !== "") onDelta({ kind, text: delta });
    if (isJsonObject(response)) readResponse(response);
    if (streamed || !Array.isArray(message["output"])) return;
    for (const text of toOutputTexts(message["output"])) onDelta(text);
    readResponse(message);
  };
  return createReader(options, readMessage, () => finishReason);
}

/** The texts of a whole response, in its order. */
function toOutputTexts(output: readonly unknown[]): readonly ChatDelta[] {
  return output.flatMap((item: unknown): readonly ChatDelta[] => {
    if (!isJsonObject(item)) return [];
    const isReasoning = item["type"] === "reasoning";
    const parts = item[isReasoning ? "summary" : "content"];
    if (!Array.isArray(parts)) return [];
    return parts.flatMap((part: unknown): readonly ChatDelta[] => {
      const text = isJsonObject(part) ? (part["text"] ?? part["refusal"]) : null;
      return typeof text === "string" && text !== ""
        ? [{ kind: isReasoning ? "reasoning" : "text", text }]
        : [];
    });
  });
}

/** Hands on each event, or the one body at its end, as a JSON object. */
function createReader(
  { streamed }: ChatReaderOptions,
  readMessage: (message: JsonObject) => void,
  findReason: () => string | null,
): ChatReader {
  const read = (text: string) => {
    const message = parseJson(text);
    if (isJsonObject(message)) readMessage(message);
  };
  if (streamed) {
    const parser = createSseParser({ take: ({ data }) => read(data) });
    return {
      push: (bytes) => parser.push(bytes),
      finish() {
        parser.finish();
        return { finishReason: findReason() };
      },
    };
  }
  const decoder = new TextDecoder();
  let text = "";
  return {
    push(bytes) {
      text += decoder.decode(bytes, { stream: true });
    },
    finish() {
      read(text + decoder.decode());
      return { finishReason: findReason() };
    },
  };
}

function tellTexts(part: JsonObject, onDelta: (delta: ChatDelta) => void): void {
  const reasoning = REASONING_FIELDS.map((name) => part[name]).find((value) => typeof value === "string");
  if (typeof reasoning === "string" && reasoning !== "") onDelta({ kind: "reasoning", text: reasoning });
  const text = part["content"];
  if (typeof text === "string" && text !== "") onDelta({ kind: "text", text });
}

/** The most characters that are kept: an error is a sentence, anything longer is a web page of a proxy in between. */
const DETAIL_LENGTH_MAX = 4_000;

/**
 * What a provider said of its own failure, in its own words where it has some; `code` is the kind of error that the
 * request log gets. `text` is the answer as it came, `body` what was read in it.
 */
export function toUpstreamFailure(status: number, body: unknown, text: string): ApiFailure {
  const error = isJsonObject(body) && isJsonObject(body["error"]) ? body["error"] : body;
  const message = isJsonObject(error) ? error["message"] : null;
  return new ApiFailure({
    code: toErrorKind(status, body),
    status,
    message: typeof message === "string" ? message : `The provider answered HTTP ${status}.`,
    source: "upstream",
    detail: text.length > DETAIL_LENGTH_MAX ? `${text.slice(0, DETAIL_LENGTH_MAX)}…` : text,
  });
}
