import { carriesOwnToken, containsOwnToken } from "#identity/secret.ts";
import { listSessionCookies } from "#identity/sessions.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { parseTags } from "#kernel/tags.ts";
import { toFieldValue, truncateCodePoints } from "#kernel/text.ts";
import { CLIENT_LENGTH_MAX } from "#usage/event.ts";
import { eventIdToUuid } from "#kernel/ids.ts";

/**
 * Header fields that cross the proxy (decisions, "Data plane"). Hop-by-hop fields and those that `Connection`
 * names belong to one connection (RFC 9110, section 7.6.1; RFC 9112, section 9.6) and are dropped in both directions.
 */

const HOP_BY_HOP = [
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  // Recomputed: the body's framing is this connection's own (RFC 9112, section 6).
  "content-length",
];

/**
 * Headers that gateways and providers read as a credential, an account to bill or another address. On `/v1` they would go up
 * beside the company's credential, and on the relay they would get around its rules of paths and methods.
 */
const ROUTING = [
  "api-key",
  "x-goog-api-key",
  "x-auth-token",
  "x-goog-user-project",
  "x-original-url",
  "x-rewrite-url",
  "x-http-method-override",
];
const ROUTING_PREFIXES = ["x-envoy-", "x-litellm-"];

const REQUEST_DROPPED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  "host",
  // Answered here, by reading the body (RFC 9110, section 10.1.1).
  "expect",
  // Replaced by `identity`: the meter reads the answer, and its bytes are not to be changed.
  "accept-encoding",
  // Replaced by JSON's own: the body was checked as UTF-8, and an upstream that obeys another charset reads another body.
  "content-type",
  // The caller's credentials, and what would tell the provider who and where the caller is.
  "authorization",
  "x-api-key",
  "cookie",
  "cookie2",
  "origin",
  "referer",
  "forwarded",
  "x-real-ip",
  "openai-organization",
  "openai-project",
  ...ROUTING,
]);
const REQUEST_DROPPED_PREFIXES = toPrefixTable([
  "x-forwarded-",
  "x-proxy-",
  "sec-",
  "proxy-",
  ...ROUTING_PREFIXES,
]);

/** Fields that an upstream may set for its own origin only, never for ours, or that a proxy in front of us would obey. */
const RESPONSE_DROPPED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  "set-cookie",
  "set-cookie2",
  "alt-svc",
  "strict-transport-security",
  "clear-site-data",
  // A client that follows it sends its prompt and its key to that address; a 3xx keeps its status and its body.
  "location",
  "content-location",
  "refresh",
  // Makes a browser ask for a password in our name.
  "www-authenticate",
  "link",
  "nel",
  "report-to",
  "reporting-endpoints",
  "origin-agent-cluster",
  "service-worker-allowed",
  "speculation-rules",
  "accept-ch",
  "critical-ch",
  "sourcemap",
  "x-sourcemap",
  // Fronts serve a file or an address of their own in place of an answer that names one so.
  "x-sendfile",
  "x-lighttpd-send-file",
  "x-lighttpd-send-tempfile",
  "x-litespeed-location",
  "x-reproxy-url",
  // Credentials and sign-in states that a browser would keep for our origin.
  "sec-session-registration",
  "secure-session-registration",
  "set-login",
  "activate-storage-access",
  "use-as-dictionary",
  "available-dictionary",
  "origin-trial",
  "timing-allow-origin",
  "x-frame-options",
  "x-xss-protection",
  "x-dns-prefetch-control",
  "x-robots-tag",
  "x-ua-compatible",
  "x-permitted-cross-domain-policies",
  // Caches in front obey it before `cache-control`.
  "cdn-cache-control",
]);
const RESPONSE_DROPPED_PREFIXES = toPrefixTable([
  "attribution-reporting-",
  "surrogate-",
  "access-control-",
  "x-proxy-",
  "proxy-",
  "content-security-policy",
  "cross-origin-",
  "permissions-policy",
  "x-accel-",
]);

/** Without one, `fetch` would name its own runtime and version; an empty one is refused by some firewalls. */
export const USER_AGENT_DEFAULT = "lockport";

/**
 * The headers of an upstream call, but for those of its body. `authHeader` is the provider's credential as it takes it, null when
 * it has none; the caller's own is not among the rest.
 */
export function toUpstreamHeaders(
  caller: Headers,
  authHeader: [name: string, value: string] | null,
): Headers {
  const headers = copyPassed(caller, TO_UPSTREAM, null);
  if (authHeader !== null) headers.set(authHeader[0], authHeader[1]);
  return headers;
}

/** CGI, WSGI and PHP give a program both letters as one: `X_Forwarded_For` would be believed as `X-Forwarded-For` is. */
function toReadName(name: string): string {
  return name.includes("_") ? name.replaceAll("_", "-") : name;
}

/** The headers of a caller that go on, by their names. */
interface Crossing {
  /** Dropped ones that nearly every client sends: they are not even read. */
  readonly usual: readonly string[];
  readonly isDropped: (name: string) => boolean;
}

const USUAL = ["host", "connection", "accept-encoding", "content-length"];
const TO_UPSTREAM: Crossing = {
  usual: [...USUAL, "content-type", "authorization"],
  isDropped: (name) => REQUEST_DROPPED.has(name) || hasPrefix(name, REQUEST_DROPPED_PREFIXES),
};

/** A copy as the runtime makes it, since each header that is read makes two texts. A value with `token` stays behind as well. */
function copyPassed(caller: Headers, { usual, isDropped }: Crossing, token: string | null): Headers {
  const headers = new Headers(caller);
  for (const name of usual) headers.delete(name);
  const named = namedByConnection(caller.get("connection"));
  const passing: Passing = { isDropped, named, token, sessions: listSessions(caller), left: null };
  headers.forEach(readPassing, passing);
  // Behind the reading, which would pass over the neighbour of a name that is deleted.
  if (passing.left !== null) for (const name of passing.left) headers.delete(name);
  headers.set("accept-encoding", "identity");
  if (!headers.has("user-agent")) headers.set("user-agent", USER_AGENT_DEFAULT);
  return headers;
}

interface Passing {
  readonly isDropped: Crossing["isDropped"];
  readonly named: ReadonlySet<string> | null;
  readonly token: string | null;
  readonly sessions: readonly string[];
  /** Names that do not go on; null as long as there is none. */
  left: string[] | null;
}

/** A function of its own: a closure, and all that it sees, would be made for each request. */
function readPassing(this: Passing, value: string, name: string): void {
  const { isDropped, named, token, sessions } = this;
  const isLeft =
    isDropped(toReadName(name)) || named?.has(name) === true || (token !== null && value.includes(token));
  if (isLeft || holdsSecret(value, sessions)) (this.left ??= []).push(name);
}

/** A session's cookie is longer: what is short may stand in a header by chance. */
const SESSION_LENGTH_MIN = 32;

function listSessions(caller: Headers): readonly string[] {
  const cookies = listSessionCookies(caller);
  return cookies.length === 0 ? cookies : cookies.filter(({ length }) => length >= SESSION_LENGTH_MIN);
}

/** True when a header's value holds a key or a token of this server, or the request's session: it goes nowhere. */
function holdsSecret(value: string, sessions: readonly string[]): boolean {
  return carriesOwnToken(value) || (sessions.length > 0 && holdsAny(value, sessions));
}

function holdsAny(value: string, sessions: readonly string[]): boolean {
  return sessions.some((session) => value.includes(session));
}

const RELAY_DROPPED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "host",
  "expect",
  "accept-encoding",
  "cookie",
  // Read here, for the usage event.
  "x-proxy-tags",
  ...ROUTING,
]);
const RELAY_DROPPED_PREFIXES = toPrefixTable(ROUTING_PREFIXES);

/**
 * The headers of a relayed call: all of the caller's, its credential included, but for those of section 4.5.
 * `bodyBytes` is null when there is no body, or one whose length is not known. A header that holds the relay token,
 * another one or an API key of this server, as that of a client which sends it as its key, stays behind.
 */
export function toRelayHeaders(
  caller: Headers,
  { token, bodyBytes }: { readonly token: string; readonly bodyBytes: number | null },
): Headers {
  const headers = copyPassed(caller, TO_RELAYED, token);
  if (bodyBytes !== null) headers.set("content-length", String(bodyBytes));
  return headers;
}

const TO_RELAYED: Crossing = {
  usual: USUAL,
  isDropped: (name) => RELAY_DROPPED.has(name) || hasPrefix(name, RELAY_DROPPED_PREFIXES),
};

/** True when a header of the upstream's response, by its name in lower case, goes no further. Those that `Connection` names go no further either. */
export function isResponseDropped(name: string): boolean {
  return RESPONSE_DROPPED.has(name) || hasPrefix(name, RESPONSE_DROPPED_PREFIXES);
}

/** The headers that name its provider and model to the caller of a request. */
export type ProxiedBy = readonly (readonly [name: string, value: string])[];

/** `upstreamName` is null for a relayed request that names no model. */
export function toProxiedBy(providerName: string, upstreamName: string | null): ProxiedBy {
  return [
    ["x-proxy-provider", providerName],
    ...(upstreamName === null ? [] : [["x-proxy-model", toFieldValue(upstreamName)] as const]),
  ];
}

/** Names the request of an answer by the id of its usage event, where there is one. */
export const REQUEST_ID_HEADER = "x-proxy-request-id";

/** A request, as the headers of its response tell it. */
export interface Proxied {
  readonly proxiedBy: ProxiedBy;
  /** Names of the limits that it has met and that only warn, or null. */
  readonly warnings: readonly string[] | null;
  /** The request's id, as its usage event has it. */
  readonly arrivedAtUs: InstantUs;
  /** This process's lane, which ends the ids of requests (`eventIdToUuid`). */
  readonly lane: number;
  /** True when a browser asks, which acts on headers. */
  readonly isBrowser: boolean;
}

/** The tags that a caller sends for its usage event, beside those that it cannot change. One that holds a key or a token is left out. */
export function toTags(headers: Headers, fixedTags: readonly string[]): readonly string[] {
  const tags = parseTags(headers.get("x-proxy-tags"), fixedTags);
  return tags.some(containsOwnToken) ? tags.filter((tag) => !containsOwnToken(tag)) : tags;
}

/** The client of a usage event; null as well for one that holds a key or a token. */
export function toStoredClient(headers: Headers): string | null {
  const userAgent = headers.get("user-agent");
  // The whole of it is looked at: what is stored is cut, perhaps inside of a token.
  return userAgent === null || carriesOwnToken(userAgent) ? null : toClient(userAgent);
}

/** The stored client: a User-Agent as it came, cut to 256 code points; null when there was none (specification, section 2.10). */
export function toClient(userAgent: string | null): string | null {
  if (userAgent === null || userAgent === "") return null;
  return truncateCodePoints(isAscii(userAgent) ? userAgent : decode(userAgent), CLIENT_LENGTH_MAX);
}

function isAscii(text: string): boolean {
  return /^[\0-\x7f]*$/.test(text);
}

/** A header arrives as one character per byte (RFC 9110, section 5.5): bytes that are UTF-8 were meant as such. */
function decode(text: string): string {
  if (!/^[\0-\xff]*$/.test(text)) return text;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(Buffer.from(text, "latin1"));
  } catch {
    return text;
  }
}

/**
 * Browsers say where a request comes from (Fetch Metadata) over HTTPS and to loopback addresses, and no page can make them
 * leave that out. Over plain HTTP from another machine they do not: RESPONSE_DROPPED is all that holds there.
 */
export function isFromBrowser(caller: Headers): boolean {
  return caller.has("sec-fetch-site");
}

/** An upstream's headers that a browser gets: they describe the answer. Any other might make a browser act on our origin one day. */
const BROWSER_KEPT: ReadonlySet<string> = new Set([
  "content-type",
  "content-encoding",
  "content-length",
  "content-language",
  "date",
  "x-request-id",
  "request-id",
]);
const BROWSER_KEPT_PREFIXES = toPrefixTable(["retry-after", "anthropic-", "openai-"]);
/** Media types that a page could load as its own script or style, anywhere in a value: browsers take the last of several. */
const SCRIPT_OR_STYLE = /script|css|xsl|wasm/i;

function keepForBrowser(passed: Headers): void {
  const others: string[] = [];
  passed.forEach((_, name) => {
    const isKept =
      BROWSER_KEPT.has(name) || hasPrefix(name, BROWSER_KEPT_PREFIXES) || name.includes("ratelimit");
    if (!isKept) others.push(name);
  });
  // Behind the reading, which would pass over the neighbour of a name that is deleted.
  for (const name of others) passed.delete(name);
  if (SCRIPT_OR_STYLE.test(passed.get("content-type") ?? "")) passed.set("content-type", "text/plain");
}

/** Makes what an upstream's response passes on the headers of a proxied response (section 1, rule 4, and section 7). */
export function toCallerHeaders(
  passed: Headers,
  status: number,
  { proxiedBy, warnings, arrivedAtUs, lane, isBrowser }: Proxied,
): Headers {
  if (isBrowser) keepForBrowser(passed);
  setProxiedBy(passed, proxiedBy);
  if (warnings !== null) passed.set("x-proxy-limit-warning", warnings.map(toFieldValue).join(", "));
  passed.set(REQUEST_ID_HEADER, eventIdToUuid(arrivedAtUs, lane));
  if (status >= 400) passed.set("x-proxy-error-source", "upstream");
  // Foreign content on our origin: no sniffing, no scripts, no origin of its own to act from.
  passed.set("x-content-type-options", "nosniff");
  passed.set("content-security-policy", "sandbox");
  return passed;
}

/** `x-proxy-provider` and `x-proxy-model`; also for a 502 in place of an upstream's answer. */
export function setProxiedBy(headers: Headers, proxiedBy: ProxiedBy): void {
  for (const [name, value] of proxiedBy) headers.set(name, value);
}

/** Names are lower case in a `Headers`. Null, the common case, when `Connection` names nothing that it does not always name. */
export function namedByConnection(connection: string | null): ReadonlySet<string> | null {
  if (connection === null || connection === "keep-alive" || connection === "close") return null;
  return new Set(connection.split(",").map((name) => name.trim().toLowerCase()));
}

type PrefixTable = ReadonlyMap<string | undefined, readonly string[]>;

/** Prefixes by their first letter: most names share it with none of them, and each name of each answer is asked for. */
function toPrefixTable(prefixes: readonly string[]): PrefixTable {
  return Map.groupBy(prefixes, (prefix) => prefix[0]);
}

function hasPrefix(name: string, prefixes: PrefixTable): boolean {
  const alike = prefixes.get(name[0]);
  if (alike === undefined) return false;
  for (const prefix of alike) if (name.startsWith(prefix)) return true;
  return false;
}
