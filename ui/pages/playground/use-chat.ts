import { useMutation } from "@tanstack/react-query";
import { useEffect, useReducer, useRef } from "react";
import { streamChat, type ChatEndpoint, type ChatMessage } from "../../api/chat.ts";
import type { ChatDelta } from "../../api/chat-reader.ts";
import { isAbort } from "../../api/failure.ts";
import { isRunning, reduceExchanges, toMessages, type Exchange } from "./exchange.ts";
import { PLAYGROUND_TAG } from "./request-row.ts";
import { type Settings, toSentSettings } from "./settings-card.tsx";

export interface Question {
  readonly endpoint: ChatEndpoint;
  readonly model: string;
  readonly question: string;
  readonly settings: Settings;
  readonly stream: boolean;
}

/** A conversation, which lives as long as its page and is kept nowhere. */
export interface Chat {
  readonly exchanges: readonly Exchange[];
  readonly running: boolean;
  readonly ask: (question: Question) => void;
  /** Asks again in place of an exchange, the last one. */
  readonly askAgain: (exchange: Exchange, question: Omit<Question, "question">) => void;
  readonly stop: () => void;
  readonly clear: () => void;
}

interface Sending extends Question {
  readonly id: number;
  readonly messages: readonly ChatMessage[];
}

export function useChat(): Chat {
  const [exchanges, tell] = useReducer(reduceExchanges, []);
  const stopping = useRef<AbortController>(null);
  const asked = useRef(0);
  // A reader who leaves does not want the rest, which would be billed.
  useEffect(() => () => stopping.current?.abort(), []);

  // As a mutation, so that an ended session and a server that is gone are noticed as everywhere.
  const { mutate } = useMutation({
    mutationFn: async ({ id, endpoint, model, messages, settings, stream }: Sending) => {
      const controller = new AbortController();
      stopping.current = controller;
      const { signal } = controller;
      const batch = createFrameBatch<ChatDelta>((deltas) => tell({ kind: "told", id, deltas }));
      const startedAtMs = performance.now();
      const toElapsedMs = () => performance.now() - startedAtMs;
      try {
        const ending = await streamChat({
          endpoint,
          model,
          messages,
          stream,
          settings: toSentSettings(settings),
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
      }
    },
  });

  const send = (before: readonly Exchange[], question: Question) => {
    asked.current += 1;
    const id = asked.current;
    tell({ kind: "asked", id, model: question.model, question: question.question });
    const messages = toMessages(before, { system: question.settings.system, question: question.question });
    mutate({ ...question, id, messages });
  };
  return {
    exchanges,
    running: exchanges.some(isRunning),
    ask: (question) => send(exchanges, question),
    askAgain(exchange, question) {
      tell({ kind: "dropped", id: exchange.id });
      send(
        exchanges.filter(({ id }) => id !== exchange.id),
        { ...question, question: exchange.question },
      );
    },
    stop: () => stopping.current?.abort(),
    clear() {
      stopping.current?.abort();
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
