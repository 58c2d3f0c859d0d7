import type { ChatEnding, ChatHead, ChatMessage } from "../../api/chat.ts";
import type { ChatDelta } from "../../api/chat-reader.ts";
import { appendText, isBlank, NO_TEXT, toWholeText, type GrowingText } from "./growing-text.ts";

/** `waiting` is before the first word. */
export type Phase = "waiting" | "answering" | "done" | "cancelled" | "failed";

/** A question and its answer, as far as it has come. */
export interface Exchange {
  readonly id: number;
  readonly model: string;
  readonly question: string;
  readonly phase: Phase;
  readonly text: GrowingText;
  /** What the model says of its thinking. */
  readonly reasoning: GrowingText;
  /** Null: nothing has answered. */
  readonly head: ChatHead | null;
  /** Null: there was none, or it was cut short. */
  readonly ending: ChatEnding | null;
  readonly failure: Error | null;
  readonly firstByteMs: number | null;
  readonly durationMs: number | null;
  /**
   * The newest row of the request log before this one was sent; null when there was none, undefined while that is not known.
   */
  readonly rowBefore: string | null | undefined;
}

export type ExchangeEvent =
  | { readonly kind: "asked"; readonly id: number; readonly model: string; readonly question: string }
  | { readonly kind: "sent"; readonly id: number; readonly rowBefore: string | null | undefined }
  | { readonly kind: "begun"; readonly id: number; readonly head: ChatHead; readonly firstByteMs: number }
  | { readonly kind: "told"; readonly id: number; readonly deltas: readonly ChatDelta[] }
  | { readonly kind: "ended"; readonly id: number; readonly ending: ChatEnding; readonly durationMs: number }
  /** Without a failure it was stopped by hand. */
  | {
      readonly kind: "broken";
      readonly id: number;
      readonly failure: Error | null;
      readonly durationMs: number;
    }
  | { readonly kind: "dropped"; readonly id: number }
  | { readonly kind: "cleared" };

/** The conversation after an event; one about an exchange that is gone changes nothing. */
export function reduceExchanges(exchanges: readonly Exchange[], event: ExchangeEvent): readonly Exchange[] {
  if (event.kind === "cleared") return [];
  if (event.kind === "dropped") return exchanges.filter(({ id }) => id !== event.id);
  if (event.kind === "asked") return [...exchanges, toExchange(event)];
  return exchanges.map((exchange) => (exchange.id === event.id ? toNext(exchange, event) : exchange));
}

export function isRunning({ phase }: Exchange): boolean {
  return phase === "waiting" || phase === "answering";
}

/**
 * What a model is told: the system message when there is one, the exchanges that have an answer, or some of it, and the
 * question. A question without any answer is left out, else two would follow each other.
 */
export function toMessages(
  exchanges: readonly Exchange[],
  { system, question }: { readonly system: string; readonly question: string },
): readonly ChatMessage[] {
  const answered = exchanges.filter(({ text }) => !isBlank(text));
  return [
    ...(system.trim() === "" ? [] : [{ role: "system", content: system } as const]),
    ...answered.flatMap((exchange): ChatMessage[] => [
      { role: "user", content: exchange.question },
      { role: "assistant", content: toWholeText(exchange.text) },
    ]),
    { role: "user", content: question },
  ];
}

type Asked = Extract<ExchangeEvent, { kind: "asked" }>;

function toExchange({ id, model, question }: Asked): Exchange {
  return {
    id,
    model,
    question,
    phase: "waiting",
    text: NO_TEXT,
    reasoning: NO_TEXT,
    head: null,
    ending: null,
    failure: null,
    firstByteMs: null,
    durationMs: null,
    rowBefore: undefined,
  };
}

type Progress = Exclude<ExchangeEvent, { kind: "asked" | "dropped" | "cleared" }>;

function toNext(exchange: Exchange, event: Progress): Exchange {
  if (event.kind === "sent") return { ...exchange, rowBefore: event.rowBefore };
  if (event.kind === "begun") return { ...exchange, head: event.head, firstByteMs: event.firstByteMs };
  if (event.kind === "told") {
    return {
      ...exchange,
      phase: "answering",
      text: append(exchange.text, event.deltas, "text"),
      reasoning: append(exchange.reasoning, event.deltas, "reasoning"),
    };
  }
  const { durationMs } = event;
  if (event.kind === "ended") return { ...exchange, phase: "done", ending: event.ending, durationMs };
  const { failure } = event;
  return { ...exchange, phase: failure === null ? "cancelled" : "failed", failure, durationMs };
}

function append(text: GrowingText, deltas: readonly ChatDelta[], kind: ChatDelta["kind"]): GrowingText {
  const more = deltas.flatMap((delta) => (delta.kind === kind ? [delta.text] : [])).join("");
  return more === "" ? text : appendText(text, more);
}
