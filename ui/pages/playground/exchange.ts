import type { ChatDelta } from "../../api/chat-reader.ts";
import type { ChatEnding, ChatHead, ChatMessage } from "../../api/chat.ts";

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
}

export type ExchangeEvent =
  | { readonly kind: "asked"; readonly id: number; readonly model: string; readonly question: string }
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
  };
}

type Progress = Exclude<ExchangeEvent, { kind: "asked" | "dropped" | "cleared" }>;

function toNext(exchange: Exchange, event: Progress): Exchange {
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

/**
 * A text that grows, in pieces: those before the last stay as they are, so that a long answer is not drawn again with every
 * word. A piece ends with its line break, and each is a block of its own on the page.
 */
export interface GrowingText {
  readonly closed: readonly string[];
  /** What is still written to. */
  readonly open: string;
}

const NO_TEXT: GrowingText = { closed: [], open: "" };

/** Characters from which a piece is closed at its last line break; one without any goes on. */
const PIECE_LENGTH = 2_000;

function appendText({ closed, open }: GrowingText, more: string): GrowingText {
  const text = open + more;
  const end = text.length < PIECE_LENGTH ? 0 : text.lastIndexOf("\n") + 1;
  return end === 0
    ? { closed, open: text }
    : { closed: [...closed, text.slice(0, end)], open: text.slice(end) };
}

export function toWholeText({ closed, open }: GrowingText): string {
  return closed.join("") + open;
}

export function isBlank({ closed, open }: GrowingText): boolean {
  return closed.length === 0 && open === "";
}
