import { treaty } from "@elysiajs/eden/treaty2";
import type { Api } from "#http/controllers.ts";

/** Every `fetch` of the page has these. A redirect would repeat a body, which may hold a key or a prompt, wherever it leads. */
export const OWN_SERVER = { credentials: "same-origin", redirect: "error" } as const;

/**
 * The server's routes with the types of the server's own source: `api.admin.v1.models({ alias }).patch(change)`. An answer
 * goes through `unwrap`. Addresses are relative, hence of the origin that the page came from.
 */
export const api = treaty<Api>("", {
  keepDomain: true,
  // Else every instant becomes a `Date`, which ends at milliseconds.
  parseDate: false,
  fetch: OWN_SERVER,
});

/** A name as one part of a path: the client above joins what it gets as it is, and an alias may hold a slash. */
export function toPathPart(name: string): string {
  return encodeURIComponent(name);
}

/** Undefined fields leave the address; a list is one parameter for each of its texts. */
export interface QueryParams {
  readonly [name: string]: string | number | readonly string[] | undefined;
}

/** Options of a query that end it when its reader leaves. */
export function asking(signal: AbortSignal | undefined, query: QueryParams = {}) {
  return { query, fetch: signal === undefined ? {} : { signal } };
}
