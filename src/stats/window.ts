import type { InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { parseInstant } from "#kernel/instant.ts";
import type { Window } from "./filter.ts";

/**
 * The query parameters `since` (inclusive) and `until` (exclusive), specification section 4: ISO 8601 date, datetime, or
 * RFC 3339. A date is midnight UTC, a datetime without zone is UTC, an empty parameter is none. Anything else throws
 * `invalid_date` with `param`.
 */
export function parseWindow(query: URLSearchParams): Window {
  return { sinceUs: parseBound(query, "since"), untilUs: parseBound(query, "until") };
}

function parseBound(query: URLSearchParams, param: "since" | "until"): InstantUs | null {
  const text = query.get(param)?.trim() ?? "";
  if (text === "") return null;
  const instant = parseInstant(text);
  if (instant === null) {
    throw new ProxyError(
      "invalid_date",
      `${param} must be an ISO 8601 date or datetime such as 2026-01-31 or 2026-01-31T08:00:00Z.`,
      { param },
    );
  }
  return instant;
}
