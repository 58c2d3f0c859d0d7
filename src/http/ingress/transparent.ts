import type { Relay } from "#forward/relay.ts";
import type { BodyMemory } from "#http/door/body-memory.ts";
import { openBody, toPassageLimits } from "#http/door/body.ts";
import { ConnectedCaller, type Connections, type Drain, toFindAddress } from "#http/door/connections.ts";
import { toExchangeResponse } from "#http/door/envelope.ts";
import type { Failures } from "#http/door/failures.ts";
import type { HostRule } from "#http/door/host.ts";
import type { RelayAuthenticator } from "#identity/caller.ts";
import type { Principal } from "#identity/principal.ts";
import { carriesOwnToken } from "#identity/secret.ts";
import type { Arrivals } from "#kernel/ids.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { Turns } from "#kernel/turns.ts";

/** A body up to this is read whole: waiting for it costs little, and its model is known before anything goes upstream. */
const WHOLE_BODY_BYTES_MAX = 1024 * 1024;

export interface RelayDoor {
  readonly relay: Relay;
  readonly authenticator: RelayAuthenticator;
}

export interface TransparentDeps {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly arrivals: Arrivals;
  readonly drain: Drain;
  readonly failures: Failures;
  readonly hosts: HostRule;
  /** Null: the relay is off. */
  readonly relay: RelayDoor | null;
  readonly maxBodyBytes: number;
  readonly memory: BodyMemory;
}

export interface Transparent {
  /** Tells whether this is a path of the relay. */
  readonly matches: (url: string) => boolean;
  /** `segments`: those of the path behind the token as it was sent, decoded, where they are known. Never throws. */
  readonly serve: (
    request: Request,
    connections: Connections | null,
    segments: readonly string[] | null,
  ) => Promise<Response>;
}

/**
 * The transparent relay's door (specification, section 4.5): `transparent_relay_disabled`, then `unknown_relay_token`, then
 * `unknown_endpoint` for a path that cannot be relayed as it came, then the body. No refusal repeats the token.
 */
export function createTransparent(deps: TransparentDeps): Transparent {
  const { clock, arrivals, drain, failures, hosts, relay } = deps;
  const limits = toPassageLimits(deps.maxBodyBytes);
  const turns = new Turns();

  const send = async (request: Request, arrivedAtUs: InstantUs, passage: Passage): Promise<Response> => {
    const { connections, segments } = passage;
    const arrivedAtMs = clock.monotonicMs();
    await turns.next();
    hosts.check(request.headers);
    if (!RELAY_METHODS.some((method) => method === request.method)) {
      throw new ProxyError("unknown_endpoint", `This path answers ${RELAY_METHODS.join(", ")} only.`);
    }
    if (relay === null) {
      throw new ProxyError("transparent_relay_disabled", "The relay is not enabled on this server.");
    }
    const target = toTarget(request.url);
    if (target === null) throw unknownPath("it leaves the relay's own path");
    const { token, path, query } = target;
    const { principal, relayTokenId, fixedTags } = await relay.authenticator.authenticate(token);
    passage.principal = principal;
    refusePath(target, segments);
    if (connections !== null && segments === null && isOfRouter(target)) {
      throw unknownPath("a path with dot segments or backslashes is not relayed");
    }
    refuseBodyOfGet(request);
    const body = await openBody(request, limits, {
      wholeBytesMax: WHOLE_BODY_BYTES_MAX,
      memory: deps.memory,
      owner: principal.name,
    });
    const answer = await relay.relay.send({
      method: request.method,
      path,
      query,
      token,
      caller: { principalId: principal.id, principalName: principal.name, relayTokenId, fixedTags },
      headers: request.headers,
      body,
      arrivedAtUs,
      arrivedAtMs,
      connection: new ConnectedCaller(request, connections),
    });
    return toExchangeResponse(answer, request, { arrivedAtUs, lane: arrivals.lane, dialect: "messages" });
  };

  return {
    matches: (url) => toTarget(url) !== null,
    async serve(request, connections, segments) {
      const arrivedAtUs = arrivals.next();
      const passage = { connections, segments, principal: null };
      let response: Response;
      try {
        response = await send(request, arrivedAtUs, passage);
      } catch (failure) {
        response = failures.answer(failure, request, {
          arrivedAtUs,
          findAddress: toFindAddress(connections, request),
          principal: passage.principal,
          dataPlane: toTarget(request.url)?.path ?? "",
          dialect: "messages",
        });
      }
      // The token is in the address.
      response.headers.set("referrer-policy", "no-referrer");
      // A page elsewhere that was given the address makes nothing of the answer.
      response.headers.set("cross-origin-resource-policy", "same-origin");
      return drain.close(response);
    },
  };
}

/** Where a request came by, and its path behind the token as it was sent. */
interface Passage {
  readonly connections: Connections | null;
  readonly segments: readonly string[] | null;
  /** The token's owner, once that is known. */
  principal: Principal | null;
}

/** A request that the server's own router has matched. */
export interface RoutedRequest extends Request {
  /** Decoded. */
  readonly params: { readonly [name: string]: string };
}

/**
 * Routes for the server's own router, which cuts a path into its segments before `Request.url` has its dot segments taken
 * out: a pattern for each number of segments. It matches no path that is deeper or has empty segments.
 */
export function toRelayRoutes(serve: Transparent["serve"]) {
  const routes: {
    [pattern: string]: (request: RoutedRequest, connections: Connections) => Promise<Response>;
  } = {};
  let pattern = `${RELAY_PREFIX}:token`;
  for (let depth = 1; depth <= DEPTH_MAX; depth += 1) {
    pattern += `/:step${depth}`;
    routes[pattern] = (request, connections) => {
      const { token: _token, ...segments } = request.params;
      return serve(request, connections, Object.values(segments));
    };
  }
  return routes;
}

/** The runtime's client sends none with these, and to leave it away would not be the request that came. */
function refuseBodyOfGet({ method, headers }: Request): void {
  if (method !== "GET" && method !== "HEAD") return;
  const length = headers.get("content-length");
  if (headers.has("transfer-encoding") || (length !== null && Number(length) > 0)) {
    throw new ProxyError("invalid_request", `A ${method} is relayed without a body only.`);
  }
}

export const RELAY_PREFIX = "/transparent/messages/";

/** The methods that are relayed; TRACE and CONNECT never are (RFC 9110, sections 9.3.6 and 9.3.8). */
const RELAY_METHODS = ["DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"] as const;
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
function refusePath({ token, path, query }: Target, segments: readonly string[] | null): void {
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
  if (path.includes(token) || query.includes(token) || carriesOwnToken(path + query)) {
    throw unknownPath(
      "a relay token stands once in a path, behind /transparent/messages, and an API key in none",
    );
  }
}

function unknownPath(why: string): ProxyError {
  return new ProxyError("unknown_endpoint", `There is no such endpoint: ${why}.`);
}

/**
 * Tells whether the router would have matched this path, had it been sent so: at most 12 segments, none of them empty. One that
 * it left to `fetch` and that looks so now has lost dot segments on the way.
 */
function isOfRouter({ path }: Target): boolean {
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
