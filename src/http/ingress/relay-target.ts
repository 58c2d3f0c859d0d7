import { containsOwnToken } from "#identity/secret.ts";
import { ProxyError } from "#kernel/errors.ts";

export const RELAY_PREFIX = "/transparent/messages/";

/** The methods that are relayed; TRACE and CONNECT never are (RFC 9110, sections 9.3.6 and 9.3.8). */
export const RELAY_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] as const;
export type RelayMethod = (typeof RELAY_METHODS)[number];

/** Segments behind the token that the server's own router matches. Deeper than any path of the API. */
export const DEPTH_MAX = 12;

/** A path of the relay, cut into its parts. */
export interface Target {
  readonly token: string;
  /** Begins with the slash behind the token; empty when there is none. */
  readonly path: string;
  readonly query: string;
}

/** Cut, never parsed: escapes, double slashes and an empty query go on as they are. Null outside of the relay. */
export function toTarget(url: string): Target | null {
  const whole = pathOf(url);
  if (!whole.startsWith(RELAY_PREFIX)) return null;
  const target = whole.slice(RELAY_PREFIX.length);
  const queryAt = target.indexOf("?");
  const path = queryAt === -1 ? target : target.slice(0, queryAt);
  const slashAt = path.indexOf("/");
  return {
    token: slashAt === -1 ? path : path.slice(0, slashAt),
    path: slashAt === -1 ? "" : path.slice(slashAt),
    query: queryAt === -1 ? "" : target.slice(queryAt),
  };
}

/**
 * Throws `unknown_endpoint` for a path that would not arrive upstream as it came, that the upstream could read as one
 * outside of its base URL, or that holds the token again. `Request.url` has lost dot segments and backslashes by then,
 * which `segments` still has.
 */
export function refusePath({ token, path, query }: Target, segments: readonly string[] | null): void {
  if (path === "" || path === "/") throw unknownPath("a path of the messages API has to follow the token");
  const sent = segments ?? path.split("/").map(decodeSeparators);
  // A dot segment counts beside an escaped slash, too: servers that decode before they route climb by `..%2f` as by `../`.
  const isDotted = sent.some((segment) =>
    segment.split(/[/\\]/).some((step) => step === "." || step === ".."),
  );
  // Decoded, a backslash may have been an escape, which is still there then.
  const isSlashed = segments !== null && count(segments.join(""), /\\/g) > count(path, /%5c/gi);
  if (isDotted || isSlashed) {
    throw unknownPath("a path with dot segments or backslashes is not relayed");
  }
  if (path.includes("#") || query.includes("#")) throw unknownPath("a fragment is not relayed");
  // A client whose base URL was put together twice repeats the token, which would leave and be read in the request log.
  if (path.includes(token) || query.includes(token) || containsOwnToken(path + query)) {
    throw unknownPath(
      "a relay token stands once in a path, behind /transparent/messages, and an API key in none",
    );
  }
}

export function unknownPath(why: string): ProxyError {
  return new ProxyError("unknown_endpoint", `There is no such endpoint: ${why}.`);
}

/**
 * Tells whether the router would have matched this path, had it been sent so: at most 12 segments, none of them empty. One that
 * it left to `fetch` and that looks so now has lost dot segments on the way.
 */
export function isOfRouter({ path }: Target): boolean {
  const segments = path.split("/").slice(1);
  return segments.length <= DEPTH_MAX && segments.every((segment) => segment !== "");
}

/** Path and query. Bun gives nothing else when the request had no Host (HTTP/1.0). */
function pathOf(url: string): string {
  if (url.startsWith("/")) return url;
  const schemeEnd = url.indexOf("://");
  const pathAt = schemeEnd === -1 ? -1 : url.indexOf("/", schemeEnd + 3);
  return pathAt === -1 ? "" : url.slice(pathAt);
}

function decodeSeparators(segment: string): string {
  return segment.replaceAll(/%2e/gi, ".").replaceAll(/%2f/gi, "/").replaceAll(/%5c/gi, "\\");
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0;
}
