import { queryOptions } from "@tanstack/react-query";
import type { AnswerOf, RouteName } from "#http/client.ts";
import { call } from "./client.ts";
import { KEYS } from "./keys.ts";

/** What would go with a removal, as the server finds it (`dry_run`). */
export type Removal = Extract<AnswerOf<keyof typeof ASK & RouteName>, { sentence: string }>;

/** The routes whose removals are asked for, each with the value of its one parameter. */
export interface RemovalOf {
  readonly route: keyof typeof ASK;
  readonly id: string;
}

/** Asked anew each time: what it says is only true now. */
export function removalQuery({ route, id }: RemovalOf) {
  return queryOptions({
    queryKey: [...KEYS.removals, route, id],
    queryFn: async ({ signal }) => toRemoval(await ASK[route](id, signal)),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
}

type Answer = AnswerOf<"DELETE /my/keys/:id">;

/** Null: the server deletes without telling. */
function toRemoval(answer: Answer): Removal | null {
  return "sentence" in answer ? answer : null;
}

const query = { dry_run: "1" };

const ASK = {
  "DELETE /admin/v1/providers/:name": (name: string, signal: AbortSignal) =>
    call("DELETE /admin/v1/providers/:name", { params: { name }, query, signal }),
  "DELETE /admin/v1/models/:alias": (alias: string, signal: AbortSignal) =>
    call("DELETE /admin/v1/models/:alias", { params: { alias }, query, signal }),
  "DELETE /admin/v1/principals/:id": (id: string, signal: AbortSignal) =>
    call("DELETE /admin/v1/principals/:id", { params: { id }, query, signal }),
  "DELETE /admin/v1/keys/:id": (id: string, signal: AbortSignal) =>
    call("DELETE /admin/v1/keys/:id", { params: { id }, query, signal }),
  "DELETE /admin/v1/relay-tokens/:id": (id: string, signal: AbortSignal) =>
    call("DELETE /admin/v1/relay-tokens/:id", { params: { id }, query, signal }),
  "DELETE /my/keys/:id": (id: string, signal: AbortSignal) =>
    call("DELETE /my/keys/:id", { params: { id }, query, signal }),
  "DELETE /my/relay-tokens/:id": (id: string, signal: AbortSignal) =>
    call("DELETE /my/relay-tokens/:id", { params: { id }, query, signal }),
} as const;
