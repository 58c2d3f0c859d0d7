import { type ErrorCode, ProxyError } from "./errors.ts";

/** One page of a list (specification, section 8): `limit` 1..500, default 100; `offset` 0 or more, default 0. */
export interface Page {
  readonly limit: number;
  readonly offset: number;
}

export interface Paged<Row> {
  readonly rows: readonly Row[];
  /** The number of rows over every page. */
  readonly total: number;
}

export const PAGE_LIMIT_MAX = 500;
export const PAGE_LIMIT_DEFAULT = 100;

/** Never refuses: a value that is not a whole number in range falls back to the default. */
export function parsePage(query: { readonly limit?: unknown; readonly offset?: unknown }): Page {
  const limit = parseWholeNumber(query.limit);
  const offset = parseWholeNumber(query.offset);
  return {
    limit: limit !== null && limit >= 1 && limit <= PAGE_LIMIT_MAX ? limit : PAGE_LIMIT_DEFAULT,
    offset: offset ?? 0,
  };
}

/** Reads a query parameter; null for anything but digits. */
export function parseWholeNumber(value: unknown): number | null {
  if (typeof value !== "string" || !/^[0-9]{1,15}$/.test(value)) return null;
  return Number(value);
}

/** A query parameter that is one of `words`: `initial` when absent or empty, and else throws `code` with `param`. */
export function parseWord<Word extends string>(
  query: URLSearchParams,
  param: string,
  words: readonly Word[],
  initial: Word,
  code: ErrorCode = "invalid_request",
): Word {
  const text = query.get(param) || initial;
  const word = words.find((known) => known === text);
  if (word === undefined)
    throw new ProxyError(code, `${param} must be one of ${words.join(", ")}.`, { param });
  return word;
}
