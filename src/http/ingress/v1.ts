import { type EndpointName, type FoundEndpoint, findEndpoint, toRow } from "#catalog/endpoint.ts";
import type { Exchange } from "#forward/exchange.ts";
import type { BodyMemory } from "#http/door/body-memory.ts";
import { type WholeBody, readBody, toBodyLimits } from "#http/door/body.ts";
import { ConnectedCaller, type Connections, type Drain, toFindAddress } from "#http/door/connections.ts";
import type { Door } from "#http/door/door.ts";
import { type ErrorDialect, toExchangeResponse } from "#http/door/envelope.ts";
import type { Failures } from "#http/door/failures.ts";
import type { HostRule } from "#http/door/host.ts";
import { toModelScope } from "#identity/caller.ts";
import type { Principal } from "#identity/principal.ts";
import { carriesOwnToken } from "#identity/secret.ts";
import type { Arrivals } from "#kernel/ids.ts";
import { free } from "#kernel/bytes.ts";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { Turns } from "#kernel/turns.ts";

export interface IngressDeps {
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly arrivals: Arrivals;
  readonly drain: Drain;
  readonly failures: Failures;
  readonly hosts: HostRule;
  readonly door: Door;
  readonly exchange: Pick<Exchange, "run">;
  readonly maxBodyBytes: number;
  readonly memory: BodyMemory;
}

export interface Ingress {
  /** Never throws. One that is asked for by an id has no body. `connections` is null where there is no connection, as in a test in process. */
  readonly serve: (
    found: FoundEndpoint,
    request: Request,
    connections: Connections | null,
  ) => Promise<Response>;
}

/**
 * One request of the data plane, from its head to its answer: who calls, then the body, then the exchange. Runs on the
 * server's native routes, without a framework in between, since every request to a model pays for it.
 */
export function createIngress(deps: IngressDeps): Ingress {
  const { clock, arrivals, drain, failures, hosts, door, exchange, memory } = deps;
  const limits = toBodyLimits(deps.maxBodyBytes);
  const turns = new Turns();

  return { serve };

  async function serve(
    found: FoundEndpoint,
    request: Request,
    connections: Connections | null,
  ): Promise<Response> {
    // Taken apart here: a parameter of an async function would get a scope of its own for that.
    const { name: endpoint, id } = found;
    const arrivedAtUs = arrivals.next();
    const arrivedAtMs = clock.monotonicMs();
    let body: WholeBody | null = null;
    let principal: Principal | null = null;
    const dialect = toRow(endpoint).capability === "messages" ? "messages" : "completions";
    try {
      await turns.next();
      hosts.check(request.headers);
      const admitted = door.admit(request, "model");
      const caller = admitted instanceof Promise ? await admitted : admitted;
      ({ principal } = caller);
      if (toRow(endpoint).isAlwaysOpen !== true && isUpgrade(request.headers)) throw toNoUpgrade(endpoint);
      const isById = id !== "";
      if (!isById) {
        const reading = readBody(request, limits, { memory, owner: principal.name });
        body = reading instanceof Promise ? await reading : reading;
      }
      const { credential } = caller;
      const result = await exchange.run({
        endpoint,
        responseId: isById ? decodeURIComponent(id) : undefined,
        caller: {
          principalId: principal.id,
          principalName: principal.name,
          keyId: credential.kind === "key" ? credential.key.id : null,
          fixedTags: caller.fixedTags,
          models: toModelScope(caller),
        },
        headers: request.headers,
        // It could ask for a stream, which the runtime neither reads nor cancels in answer to HEAD.
        query: request.method === "HEAD" ? "" : toQuery(request.url),
        body: body?.bytes ?? NO_BODY,
        reservation: body?.reservation ?? null,
        arrivedAtUs,
        arrivedAtMs,
        connection: new ConnectedCaller(request, connections),
      });
      const context = { arrivedAtUs, lane: arrivals.lane, dialect } as const;
      return drain.close(toExchangeResponse(result, request, context));
    } catch (failure) {
      // A refusal comes before anything goes upstream.
      if (failure instanceof ProxyError && body !== null) free(body.bytes);
      body?.reservation?.close();
      const failed = {
        arrivedAtUs,
        findAddress: toFindAddress(connections, request),
        principal,
        dataPlane: endpoint,
        dialect,
      } as const;
      return drain.close(failures.answer(failure, request, failed));
    }
  }
}

const NO_BODY = new Uint8Array(0);

/** True where a WebSocket is asked for (RFC 6455, section 4.1). */
export function isUpgrade(headers: Headers): boolean {
  return headers.get("upgrade")?.toLowerCase() === "websocket";
}

/** Clients of the Responses API that ask for a WebSocket go on with a POST then (RFC 9110, section 15.5.22). */
function toNoUpgrade(endpoint: EndpointName): ProxyError {
  const message = `There are no WebSockets here. Send a POST to /v1${toRow(endpoint).path}.`;
  return new ProxyError("upgrade_not_supported", message, { headers: { upgrade: "HTTP/1.1" } });
}

/** Reads the query as it came, with its question mark; empty without one. Throws `invalid_request` for a key or token in it, which would go upstream. */
function toQuery(url: string): string {
  const queryAt = url.indexOf("?");
  if (queryAt === -1) return "";
  const query = url.slice(queryAt);
  if (!carriesOwnToken(query)) return query;
  throw new ProxyError(
    "invalid_request",
    "A key of this server has no place in a query. Send it as Authorization: Bearer.",
  );
}

/**
 * The part of the data plane that a request behind Elysia asks for: the endpoint, or the path where it is none that is served; null
 * outside of the data plane. The list of models is part of it, under both of its paths.
 */
export function toDataPlane(pathname: string): string | null {
  const found = findEndpoint("POST", pathname);
  // Others are named by the ingress, as long as they are open.
  if (found !== null && toRow(found.name).isAlwaysOpen === true) return found.name;
  // The id of a response is its owner's, and is not logged.
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
