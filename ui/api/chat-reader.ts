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

export function createChatReader({ streamed, status, onDelta }: ChatReaderOptions): ChatReader {
  let finishReason: string | null = null;

  const readMessage = (message: unknown) => {
    if (!isJsonObject(message)) return;
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
  return streamed ? readStream() : readWhole();

  function readStream(): ChatReader {
    const parser = createSseParser({ take: ({ data }) => readMessage(parseJson(data)) });
    return {
      push: (bytes) => parser.push(bytes),
      finish() {
        parser.finish();
        return { finishReason };
      },
    };
  }

  function readWhole(): ChatReader {
    const decoder = new TextDecoder();
    let text = "";
    return {
      push(bytes) {
        text += decoder.decode(bytes, { stream: true });
      },
      finish() {
        readMessage(parseJson(text + decoder.decode()));
        return { finishReason };
      },
    };
  }
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
