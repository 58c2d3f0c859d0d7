import type { Relay } from "#forward/relay.ts";
import type { RelayAuthenticator } from "#identity/relay-caller.ts";
import type { Arrivals } from "#kernel/arrivals.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { Turns } from "#kernel/turns.ts";
import { toExchangeResponse } from "./exchange-response.ts";
import { openBody, toPassageLimits } from "#http/door/body.ts";
import type { BodyMemory } from "#http/door/body-memory.ts";
import { ConnectedCaller, toFindAddress, type Connections } from "#http/door/connections.ts";
import type { Drain } from "#http/door/drain.ts";
import type { Failures } from "#http/door/failures.ts";
import type { HostRule } from "#http/door/host.ts";
import {
  DEPTH_MAX,
  isOfRouter,
  refusePath,
  RELAY_METHODS,
  RELAY_PREFIX,
  toTarget,
  unknownPath,
} from "./relay-target.ts";

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
    passage.principal = principal.name;
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
  principal: string | null;
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
