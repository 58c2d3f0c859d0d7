import { findEndpoint, toRow } from "#catalog/endpoint.ts";
import type { ErrorDialect } from "#http/door/envelope.ts";

/**
 * What a request behind Elysia asks of the data plane: the endpoint, or the path where it is none that is served; null
 * outside of the data plane. The list of models is part of it, under both of its paths.
 */
export function toDataPlane(pathname: string): string | null {
  const endpoint = findEndpoint("POST", pathname)?.name;
  // Others are named by the ingress, as long as they are open.
  if (endpoint !== undefined && toRow(endpoint).isAlwaysOpen === true) return endpoint;
  return pathname === "/models" || pathname.startsWith("/v1/") ? pathname : null;
}

/** A path that only clients of the messages API ask for, such as one whose base URL lacks the relay's part. */
const MESSAGES_PATH = /\/messages(?:\/|$)/;

/** Whose clients ask for a path behind Elysia. */
export function toErrorDialect(pathname: string): ErrorDialect {
  if (MESSAGES_PATH.test(pathname)) return "messages";
  return toDataPlane(pathname) === null ? "interface" : "completions";
}
