import { queryOptions, useMutation } from "@tanstack/react-query";
import { useCallback, useEffect, useReducer, useRef, useState } from "react";
import {
  streamChat,
  type ChatCall,
  type ChatDelta,
  type ChatEnding,
  type ChatEndpoint,
  type ChatHead,
  type ChatMessage,
} from "../../api/chat.ts";
import { ApiFailure, isAbort } from "../../api/failure.ts";
import { KEYS } from "../../api/keys.ts";
import { fetchRequests } from "../../api/reports.ts";
import { type Settings, toSentSettings } from "./question.tsx";

/** `waiting` is before the first word. */
export type Phase = "waiting" | "answering" | "done" | "cancelled" | "failed";

/** A question and its answer, as far as it has come. */
export interface Exchange {
  readonly id: number;
  /** The exchanges of one turn answer one question. */
  readonly turn: number;
  readonly side: Side;
  readonly model: string;
  readonly question: string;
  readonly call: ChatCall;
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

/** 1 is the model that is compared. */
export type Side = 0 | 1;

type ExchangeEvent =
  | { readonly kind: "asked"; readonly asked: Asked }
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
function reduceExchanges(exchanges: readonly Exchange[], event: ExchangeEvent): readonly Exchange[] {
  if (event.kind === "cleared") return [];
  if (event.kind === "dropped") return exchanges.filter(({ id }) => id !== event.id);
  if (event.kind === "asked") return [...exchanges, toExchange(event.asked)];
  return exchanges.map((exchange) => (exchange.id === event.id ? toNext(exchange, event) : exchange));
}

export function isRunning({ phase }: Exchange): boolean {
  return phase === "waiting" || phase === "answering";
}

interface Told {
  readonly side: Side;
  readonly system: string;
  readonly question: string;
}

/**
 * What a model is told: the system message when there is one, the exchanges that have an answer, or some of it, and the
 * question. A question without any answer is left out, else two would follow each other. A model that joins to be compared
 * is told the answers of the other.
 */
function toMessages(
  exchanges: readonly Exchange[],
  { side, system, question }: Told,
): readonly ChatMessage[] {
  const withAnswer = exchanges.filter(({ text }) => !isBlank(text));
  const hasOwn = (turn: number) => withAnswer.some((one) => one.turn === turn && one.side === side);
  const answered = withAnswer.filter((one) => one.side === side || !hasOwn(one.turn));
  return [
    ...(system.trim() === "" ? [] : [{ role: "system", content: system } as const]),
    ...answered.flatMap((exchange): ChatMessage[] => [
      { role: "user", content: exchange.question },
      { role: "assistant", content: toWholeText(exchange.text) },
    ]),
    { role: "user", content: question },
  ];
}

type Asked = Pick<Exchange, "id" | "turn" | "side" | "model" | "question" | "call">;

function toExchange(asked: Asked): Exchange {
  return {
    ...asked,
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

/** What requests from here are found by in the reports. */
export const PLAYGROUND_TAG = "app:playground";

const POLL_MS = 400;
const TRIES_MAX = 12;
/** More requests than a person sends while one answer arrives. */
const ROWS = 20;

/** What the request log says of an exchange, asked for until it does, for some seconds. Null: it did not. */
export function requestRowQuery(exchange: Exchange, principal: string) {
  const id = exchange.head?.requestId ?? null;
  const { model } = exchange;
  return queryOptions({
    queryKey: [...KEYS.playgroundRow, id],
    queryFn: async ({ signal }) => {
      for (let tries = 1; ; tries += 1) {
        const asked = { principal, model, tag: [PLAYGROUND_TAG] };
        const { requests } = await fetchRequests(asked, { limit: ROWS }, signal);
        const row = requests.find((one) => one.id === id) ?? null;
        if (row !== null || tries === TRIES_MAX) return row;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        signal.throwIfAborted();
      }
    },
    enabled: isFindable(exchange),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** Whether the log gets a row: the proxy's own refusals are no requests to a provider. */
export function isLogged(exchange: Exchange): boolean {
  const { failure } = exchange;
  if (isRunning(exchange)) return false;
  if (!(failure instanceof ApiFailure)) return failure === null;
  if (failure.source === "page") return failure.code !== "offline";
  return failure.source === "upstream" || failure.code === "provider_unreachable";
}

/** Whether its row can be told from others: a browser keeps the headers of a redirect, and of what was stopped early, to itself. */
export function isFindable(exchange: Exchange): boolean {
  return isLogged(exchange) && typeof exchange.head?.requestId === "string";
}

export interface Question {
  readonly endpoint: ChatEndpoint;
  readonly model: string;
  readonly question: string;
  readonly settings: Settings;
  readonly stream: boolean;
}

/** A conversation, which lives as long as its page and is kept nowhere. */
interface Chat {
  readonly exchanges: readonly Exchange[];
  readonly running: boolean;
  /** Asks one model, or two that are compared. */
  readonly ask: (questions: readonly Question[]) => void;
  /** Asks again in place of an exchange, the last one. */
  readonly askAgain: (exchange: Exchange, question: Omit<Question, "question">) => void;
  readonly stop: () => void;
  readonly clear: () => void;
}

interface Sending {
  readonly id: number;
  readonly call: ChatCall;
}

export function useChat(): Chat {
  const [exchanges, tell] = useReducer(reduceExchanges, []);
  const [running] = useState(() => new Set<AbortController>());
  const asked = useRef(0);
  const stop = useCallback(() => {
    for (const controller of running) controller.abort();
  }, [running]);
  // A reader who leaves does not want the rest, which would be billed.
  useEffect(() => stop, [stop]);

  // As a mutation, so that an ended session and a server that is gone are noticed as everywhere.
  const { mutate } = useMutation({
    mutationFn: async ({ id, call }: Sending) => {
      const controller = new AbortController();
      running.add(controller);
      const { signal } = controller;
      const batch = createFrameBatch<ChatDelta>((deltas) => tell({ kind: "told", id, deltas }));
      const startedAtMs = performance.now();
      const toElapsedMs = () => performance.now() - startedAtMs;
      try {
        const ending = await streamChat({
          ...call,
          tags: [PLAYGROUND_TAG],
          signal,
          onHead: (head) => tell({ kind: "begun", id, head, firstByteMs: toElapsedMs() }),
          onDelta: batch.add,
        });
        batch.flush();
        tell({ kind: "ended", id, ending, durationMs: toElapsedMs() });
      } catch (failure) {
        batch.flush();
        const isStopped = isAbort(failure);
        tell({ kind: "broken", id, failure: isStopped ? null : toError(failure), durationMs: toElapsedMs() });
        if (!isStopped) throw failure;
      } finally {
        running.delete(controller);
      }
    },
  });

  const send = (
    before: readonly Exchange[],
    { question, settings, ...how }: Question,
    { turn, side }: Pick<Exchange, "turn" | "side">,
  ) => {
    asked.current += 1;
    const id = asked.current;
    const messages = toMessages(before, { side, system: settings.system, question });
    const call = { ...how, messages, settings: toSentSettings(settings) };
    tell({ kind: "asked", asked: { id, turn, side, model: how.model, question, call } });
    mutate({ id, call });
  };
  return {
    exchanges,
    running: exchanges.some(isRunning),
    ask(questions) {
      const turn = (exchanges.at(-1)?.turn ?? 0) + 1;
      for (const [at, question] of questions.entries())
        send(exchanges, question, { turn, side: at === 0 ? 0 : 1 });
    },
    askAgain(exchange, question) {
      tell({ kind: "dropped", id: exchange.id });
      send(
        exchanges.filter(({ turn }) => turn !== exchange.turn),
        { ...question, question: exchange.question },
        exchange,
      );
    },
    stop,
    clear() {
      stop();
      tell({ kind: "cleared" });
    },
  };
}

function toError(failure: unknown): Error {
  return failure instanceof Error
    ? failure
    : new Error("An error occurred in this page.", { cause: failure });
}

/** Gathers what comes and hands it on once a frame. */
interface FrameBatch<Item> {
  readonly add: (item: Item) => void;
  /** Shows at once what is gathered; a hidden tab draws no frames. */
  readonly flush: () => void;
}

function createFrameBatch<Item>(onItems: (items: readonly Item[]) => void): FrameBatch<Item> {
  let gathered: Item[] = [];
  let frame: number | null = null;
  const flush = () => {
    if (frame !== null) cancelAnimationFrame(frame);
    frame = null;
    if (gathered.length === 0) return;
    const items = gathered;
    gathered = [];
    onItems(items);
  };
  return {
    add(item) {
      gathered.push(item);
      frame ??= requestAnimationFrame(flush);
    },
    flush,
  };
}
