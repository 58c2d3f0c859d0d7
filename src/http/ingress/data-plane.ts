import { findEndpoint, toRow } from "#catalog/endpoint.ts";
import type { ErrorDialect } from "#http/door/envelope.ts";

/**
 * What a request behind Elysia asks of the data plane: the endpoint, or the path where it is none that is served; null
 * outside of the data plane. The list of models is part of it, under both of its paths.
 */
export function toDataPlane(pathname: string): string | null {
  const found = findEndpoint("POST", pathname);
  // Others are named by the ingress, as long as they are open.
  if (found !== null && toRow(found.name).isAlwaysOpen === true) return found.name;
  // What a caller names by its id is not told on.
  if (pathname.startsWith(RESPONSES) && (found === null || found.id !== "")) return `${RESPONSES}:id`;
  return pathname === "/models" || pathname.startsWith("/v1/") ? pathname : null;
}

const RESPONSES = "/v1/responses/";

/** A path that only clients of the messages API ask for, such as one whose base URL lacks the relay's part. */
const MESSAGES_PATH = /\/messages(?:\/|$)/;

/** Whose clients ask for a path behind Elysia. */
export function toErrorDialect(pathname: string): ErrorDialect {
  if (MESSAGES_PATH.test(pathname)) return "messages";
  return toDataPlane(pathname) === null ? "interface" : "completions";
}
