import { type EndpointName, toRow } from "#catalog/endpoint.ts";
import type { ModelScope } from "#catalog/model.ts";
import { requireCapability, resolveModel, withQuery } from "#catalog/resolve.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { CatalogStore } from "#catalog/store.ts";
import type { Clock } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import type { UsageMetrics } from "#usage/metrics.ts";
import type { UsageLedger } from "#usage/store.ts";
import { OpenRequests } from "./open-requests.ts";
import { ProxiedRequest, type RequestHead } from "./proxied-request.ts";
import { breakOff, type ForwardResult, giveUp, NEVER_SENT, settleWhole, toBreach } from "./request-end.ts";
import { createMetering } from "./metering.ts";
import { isReadAtOnce, respond, toWholeResponse } from "./respond.ts";
import type { SlotSource } from "#catalog/slots.ts";
import { createConcurrencyLimiter } from "./concurrency-limiter.ts";
import {
  type Reservation,
  createMemorySemaphore,
  BUFFERED_BYTES_TOTAL_MAX,
} from "#kernel/memory-semaphore.ts";
import { free } from "#kernel/bytes.ts";
import { createDepartures } from "./response-buffer.ts";
import { toUpstreamHeaders } from "./headers.ts";
import { type KeptResponses, AskedResponse, MadeResponse } from "./kept-responses.ts";
import {
  refuseLargeBatch,
  refuseUntoldStream,
  cutBody,
  parseLargeBody,
  parseRequestBody,
  type ParsedRequestBody,
  spliceBody,
} from "./request-body.ts";
import { type Route, createRoutes, makeRoute } from "./route.ts";
import { cutForm, parseForm, parseLargeForm, refuseDelimiterIn, type ParsedForm } from "./form-body.ts";
import { SCANNED_AT_ONCE_BYTES_MAX } from "./paced-scan.ts";
import {
  type Breach,
  createUpload,
  toFailedCall,
  type Upload,
  type UpstreamAnswer,
  type UpstreamRequest,
} from "./upstream.ts";

export interface ExchangeDeps {
  readonly catalog: Pick<CatalogStore, "peek" | "snapshot">;
  readonly ledger: UsageLedger;
  readonly metrics: Pick<UsageMetrics, "open">;
  /** Lends the slots of `max_concurrency`. */
  readonly slots: SlotSource;
  readonly secrets: SecretBox;
  readonly clock: Clock;
  readonly log: Log;
  /** Items of an array `input`. */
  readonly maxEmbeddingBatch: number;
  /** Bytes of one response that is buffered until it is complete. */
  readonly maxResponseBytes: number;
  /** Bytes of all buffered responses together; at least as much as one may have. */
  readonly bufferedBytesTotalMax?: number;
  /** Absent: no ids are kept, and nothing is asked for by one. */
  readonly responses?: KeptResponses;
}

export interface ExchangeInput extends RequestHead {
  readonly endpoint: EndpointName;
  /** The response that is asked for; absent where the body names a model. */
  readonly responseId?: string | undefined;
  readonly caller: RequestHead["caller"] & { readonly models: ModelScope };
  /** The query as it came, with its question mark; empty without one. */
  readonly query: string;
  /** Memory that no other part reads: the exchange frees it as soon as the body is no longer needed. */
  readonly body: Uint8Array;
  /**
   * Memory that a large body has reserved. It is closed when the upstream has taken the body, or when the exchange has ended;
   * the caller of this function closes it when this throws.
   */
  readonly reservation?: Pick<Reservation, "close"> | null;
}

export type ExchangeResult = ForwardResult;

export interface Exchange {
  /**
   * One request in, at most one request out, and exactly one usage event once its checks have passed. Throws the refusals
   * before that, in its promise or before there is one: `invalid_json`, `model_required`, `model_not_found`,
   * `endpoint_not_supported`, `invalid_multipart`, `invalid_request` (param `stream`, or the field that another one looks like),
   * `embedding_batch_too_large`, `limit_exceeded`; for a response that is asked for by its id `response_not_found` as well.
   */
  run(input: ExchangeInput): Promise<ExchangeResult>;
  /** Exchanges whose usage event is not written yet. */
  activeCount(): number;
  /** Active exchanges whose request asked for a stream. */
  activeStreamCount(): number;
  /** Active exchanges that wait for a permit of their provider. */
  waitingCount(): number;
  /** Fulfilled as soon as there are none. */
  drained(): Promise<void>;
  /**
   * To be called before the server closes its callers' connections: what that breaks off is `unreachable`, and not
   * `cancelled`, for requests of the relay as well.
   */
  halt(): void;
}

const NO_PERMIT: Breach = { error: "timeout", failure: "queue_timeout" };

/** `requests` has those of the relay as well, which then count among the active ones. */
export function createExchange(deps: ExchangeDeps, requests = new OpenRequests(deps)): Exchange {
  const { secrets, metrics, clock } = deps;
  const { limits, upstream } = requests;
  const limiter = createConcurrencyLimiter(deps.slots);
  const buffered = createMemorySemaphore({
    bytesMax: deps.maxResponseBytes,
    totalBytesMax: deps.bufferedBytesTotalMax ?? BUFFERED_BYTES_TOTAL_MAX,
  });
  const answers = { buffered, departures: createDepartures() };
  const routeDeps = { secrets, limiter, metrics, upstream };
  const routeTo = createRoutes(routeDeps);
  return {
    run,
    activeCount: () => requests.openCount(),
    activeStreamCount: () => requests.openStreamCount(),
    waitingCount: () => limiter.waitingCount(),
    drained: () => requests.settled(),
    halt: () => requests.halt(),
  };

  function run(input: ExchangeInput): Promise<ExchangeResult> {
    if (input.responseId !== undefined) return askFor(input, input.responseId);
    if (input.headers.has("content-encoding")) {
      throw new ProxyError("invalid_json", "The request body must not be encoded.");
    }
    const parsed = parseBody(input);
    const catalog = parsed instanceof Promise ? null : deps.catalog.peek();
    return parsed instanceof Promise || catalog === null
      ? find(input, parsed)
      : follow(input, parsed, catalog);
  }

  /** Where something has to be waited for. What one function waits for is no function of every request. */
  async function find(
    input: ExchangeInput,
    parsing: ParsedBody | Promise<ParsedBody>,
  ): Promise<ExchangeResult> {
    const parsed = await parsing;
    return await follow(input, parsed, deps.catalog.peek() ?? (await deps.catalog.snapshot()));
  }

  function follow(
    input: ExchangeInput,
    parsed: ParsedBody,
    catalog: CatalogSnapshot,
  ): Promise<ExchangeResult> {
    const resolved = resolveModel(catalog, parsed.model, input.caller.models);
    requireCapability(resolved, input.endpoint, parsed.stream);
    if (!isForm(parsed)) {
      refuseUntoldStream(parsed);
      refuseLargeBatch(parsed, deps.maxEmbeddingBatch);
    }

    const route = routeTo(resolved, input.endpoint);
    if (isForm(parsed)) refuseDelimiterIn(parsed, Buffer.from(resolved.upstreamName));
    const request = new ProxiedRequest(requests, input, route);
    request.streamed = parsed.stream;
    const following = limits.current(request);
    // An answer of `compact` is no response and has no id to be asked for by.
    if (input.endpoint === "responses" && deps.responses !== undefined)
      request.responses = new MadeResponse(deps.responses, request, resolved.model.id);
    return following === null ? begin(input, parsed, request) : beginAfter(following, input, parsed, request);
  }

  async function beginAfter(
    following: Promise<void>,
    input: ExchangeInput,
    parsed: ParsedBody,
    request: ProxiedRequest<Route>,
  ): Promise<ExchangeResult> {
    await following;
    return await begin(input, parsed, request);
  }

  async function askFor(input: ExchangeInput, id: string): Promise<ExchangeResult> {
    const { endpoint } = input;
    const catalog = deps.catalog.peek() ?? (await deps.catalog.snapshot());
    if (deps.responses === undefined)
      throw new ProxyError("response_not_found", "There is no such response.");
    const found = await deps.responses.find(id, input.caller, catalog);
    // The id is part of the address, so that there is a route for each.
    const route = makeRoute(found.model, { endpoint, id: encodeURIComponent(id) }, routeDeps);
    const request = new ProxiedRequest(requests, input, route);
    await limits.current(request);
    const isDeletion = route.method === "DELETE";
    request.responses = new AskedResponse(deps.responses, found, { id, isDeletion });
    return begin(input, null, request);
  }

  /** `parsed`: null for a request without a body. */
  function begin(
    input: ExchangeInput,
    parsed: ParsedBody | null,
    request: ProxiedRequest<Route>,
  ): Promise<ExchangeResult> {
    request.warnings = limits.admit(request, request.terms.hasPrice);
    request.begin();
    request.open();
    if ((input.reservation ?? null) !== null) request.held = toHeldBody(input, request);
    return forward(input, parsed, request);
  }

  /** All that a short exchange waits for is in one function: each more that is left and entered again costs every request. */
  async function forward(
    input: ExchangeInput,
    parsed: ParsedBody | null,
    request: ProxiedRequest<Route>,
  ): Promise<ExchangeResult> {
    const { terms: route, cancellation } = request;
    const { queue, idleMs } = route;
    const { maxConcurrency } = route.resolved.provider;
    // An answer to a request without a body may be a stream all the same: its media type tells.
    if (!request.streamed) request.untilMs = clock.monotonicMs() + idleMs;
    try {
      let permit = queue.tryAcquire(maxConcurrency);
      if (permit === null) {
        // For as long as reading may take, or until the caller leaves.
        cancellation.arm(idleMs);
        permit = await queue.acquire(maxConcurrency, cancellation.signal);
      }
      if (permit === null) return await giveUp(request, NO_PERMIT, NEVER_SENT);
      permit.whenCut(cancellation);
      request.permit = permit;

      await requests.written();
      // Sent in the same turn: its body stands where that of the next one will.
      const call = toCall(input, parsed, request);
      let head: UpstreamAnswer;
      try {
        head = upstream.toAnswer(call, await upstream.send(call));
      } catch (cause) {
        head = toFailedCall(call, cause);
      }
      if (head.kind === "failed") {
        free(input.body);
        return await giveUp(request, head, head.isSent ? null : NEVER_SENT);
      }
      request.answered(head.response.status);
      if (!isReadAtOnce(head, request, buffered.bytesMax)) return await respond(request, head, answers);

      let bytes: Uint8Array;
      try {
        bytes = await head.response.bytes();
      } catch {
        return await giveUp(request, toBreach(cancellation));
      }
      if (bytes.length > 0) request.firstByte();
      const metering = createMetering(head, route.meter, false);
      const lagging = metering.push(bytes);
      if (lagging !== null) await lagging;
      await requests.ends.next();
      head.readToEnd();
      cancellation.checkCaller();
      cancellation.finish();
      await settleWhole(request, metering);
      return { kind: "responded", response: toWholeResponse(request, head, bytes) };
    } catch (failure) {
      await breakOff(request);
      throw failure;
    }
  }
}

function toCall(
  input: ExchangeInput,
  parsed: ParsedBody | null,
  request: ProxiedRequest<Route>,
): UpstreamRequest {
  const { terms: route, cancellation, untilMs } = request;
  const { method, target, idleMs } = route;
  const { passesQuery } = toRow(input.endpoint);
  const body = parsed === null ? null : toUpstreamBody(input, parsed, route);
  const headers = toUpstreamHeaders(input.headers, route.authHeader);
  if (parsed !== null && body !== null) {
    headers.set("content-length", String("sizeBytes" in body ? body.sizeBytes : body.length));
    // A form's has its boundary.
    const formType = isForm(parsed) ? input.headers.get("content-type") : null;
    headers.set("content-type", formType ?? "application/json");
  }
  const url = passesQuery === true && input.query !== "" ? withQuery(target.url, input.query) : target.url;
  return { method, target, url, headers, body, cancellation, headMs: idleMs, untilMs };
}

/** A body that came, and the memory that it has reserved where it is large. */
interface ReceivedBody {
  readonly body: Uint8Array;
  readonly reservation?: Pick<Reservation, "close"> | null;
}

type ParsedBody = ParsedRequestBody | ParsedForm;

interface Received extends ReceivedBody {
  readonly endpoint: EndpointName;
  readonly headers: Headers;
}

export function isForm(parsed: ParsedBody): parsed is ParsedForm {
  return "modelAt" in parsed;
}

/** Reads what the endpoint may read of a body: JSON, or a form where it takes one. Throws as `parseRequestBody` and `parseForm` do. */
function parseBody({ body, endpoint, headers }: Received): ParsedBody | Promise<ParsedBody> {
  const isLarge = body.length > SCANNED_AT_ONCE_BYTES_MAX;
  const kind = toRow(endpoint).body;
  if (kind === "json" || (kind === "json_or_form" && !isMultipart(headers)))
    return isLarge ? parseLargeBody(body, endpoint) : parseRequestBody(body, endpoint);
  const contentType = headers.get("content-type");
  return isLarge ? parseLargeForm(body, contentType) : parseForm(body, contentType);
}

function isMultipart(headers: Headers): boolean {
  return /^\s*multipart\//i.test(headers.get("content-type") ?? "");
}

/** What is held of a large body until its exchange has ended. */
function toHeldBody({ body, reservation }: ReceivedBody, request: ProxiedRequest): Disposable {
  return {
    [Symbol.dispose]() {
      // An upstream that answered early may still be taking it; a cancelled one takes no more.
      if (request.cancellation.isCutOff) free(body);
      reservation?.close();
    },
  };
}

/** A large body is not copied, and its memory is released once it is sent: a model may think for minutes. */
function toUpload({ body, reservation }: ReceivedBody, pieces: readonly Uint8Array[]): Upload {
  return createUpload(pieces, () => {
    free(body);
    reservation?.close();
  });
}

/** The body that goes upstream. A short one is there at once, as a copy (`spliceBody`), and the memory of what came is freed. */
function toUpstreamBody(
  received: ReceivedBody,
  parsed: ParsedBody,
  route: Pick<Route, "resolved" | "upstreamJson">,
): Uint8Array<ArrayBuffer> | Upload {
  const { body, reservation = null } = received;
  if (reservation !== null) return toUpload(received, cut(parsed, route));
  const spliced = isForm(parsed) ? Buffer.concat(cut(parsed, route)) : spliceBody(parsed, route.upstreamJson);
  free(body);
  return spliced;
}

function cut(
  parsed: ParsedBody,
  { resolved, upstreamJson }: Pick<Route, "resolved" | "upstreamJson">,
): Uint8Array[] {
  return isForm(parsed) ? cutForm(parsed, Buffer.from(resolved.upstreamName)) : cutBody(parsed, upstreamJson);
}
