import { type EndpointName, toRow } from "#catalog/endpoint.ts";
import type { ModelScope } from "#catalog/model.ts";
import { requireCapability, resolveModel, withQuery } from "#catalog/resolve.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { CatalogStore } from "#catalog/store.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import type { UsageBeginning } from "#usage/event.ts";
import type { UsageMetrics } from "#usage/metrics.ts";
import type { UsageLedger } from "#usage/store.ts";
import {
  type ForwardResult,
  type OpenExchange,
  breakOff,
  giveUp,
  NEVER_SENT,
  type Shared,
  createShared,
} from "./open-exchange.ts";
import type { Breach } from "./account.ts";
import { respond } from "./respond.ts";
import { toSubject } from "./attribution.ts";
import type { Caller, Cancellation } from "#kernel/cancellation.ts";
import type { SlotSource } from "#catalog/slots.ts";
import { createConcurrencyLimiter } from "./concurrency-limiter.ts";
import {
  type Reservation,
  createMemorySemaphore,
  BUFFERED_BYTES_TOTAL_MAX,
} from "#kernel/memory-semaphore.ts";
import { free } from "#kernel/bytes.ts";
import { createDepartures } from "./response-buffer.ts";
import { isFromBrowser, toUpstreamHeaders, withLimitWarnings } from "./headers.ts";
import { type KeptResponses, AskedResponse, MadeResponse, type ResponseWatch } from "./kept-responses.ts";
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
import { createUpload, type Upload } from "./upstream.ts";

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

export interface ExchangeInput {
  readonly endpoint: EndpointName;
  /** The response that is asked for; absent where the body names a model. */
  readonly responseId?: string | undefined;
  readonly caller: {
    readonly principalId: string;
    readonly principalName: string;
    readonly keyId: string | null;
    readonly fixedTags: readonly string[];
    readonly models: ModelScope;
  };
  readonly headers: Headers;
  /** The query as it came, with its question mark; empty without one. */
  readonly query: string;
  /** Memory that no other part reads: the exchange frees it as soon as the body is no longer needed. */
  readonly body: Uint8Array;
  /**
   * Memory that a large body has reserved. It is closed when the upstream has taken the body, or when the exchange has ended;
   * the caller of this function closes it when this throws.
   */
  readonly reservation?: Pick<Reservation, "close"> | null;
  readonly arrivedAtUs: InstantUs;
  readonly arrivedAtMs: number;
  /** The connection that the request came by. */
  readonly connection: Caller;
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

interface RoutedExchange extends OpenExchange {
  readonly route: Route;
}

/** A request whose checks have passed, but for limits. */
interface Known {
  readonly route: Route;
  readonly subject: UsageBeginning;
  readonly responses: ResponseWatch | null;
}

/** An answer to a request without a body may be a stream all the same: its media type tells. */
const NO_STREAM = { stream: false };

const NO_PERMIT: Breach = { error: "timeout", failure: "queue_timeout" };

/** `shared` is what the relay has in common with it, whose requests then count among the active ones. */
export function createExchange(deps: ExchangeDeps, shared: Shared = createShared(deps)): Exchange {
  const { secrets, metrics, clock } = deps;
  const { accounts, upstream } = shared;
  const { lane = 0 } = accounts.deps;
  const limiter = createConcurrencyLimiter(deps.slots);
  const buffered = createMemorySemaphore({
    bytesMax: deps.maxResponseBytes,
    totalBytesMax: deps.bufferedBytesTotalMax ?? BUFFERED_BYTES_TOTAL_MAX,
  });
  const departures = createDepartures();
  const routeDeps = { secrets, limiter, metrics, upstream };
  const routeTo = createRoutes(routeDeps);
  return {
    run,
    activeCount: () => accounts.openCount(),
    activeStreamCount: () => accounts.openStreamCount(),
    waitingCount: () => limiter.waitingCount(),
    drained: () => accounts.settled(),
    halt: () => shared.halt(),
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
    refuseName(parsed, route);
    const subject = toSubject(input, parsed, route.model);
    const following = accounts.limits.current(subject);
    // An answer of `compact` is no response and has no id to be asked for by.
    const responses =
      input.endpoint === "responses" && deps.responses !== undefined
        ? new MadeResponse(deps.responses, subject, route.model.model.id)
        : null;
    const known = { route, subject, responses };
    return following === null ? begin(input, parsed, known) : beginAfter(following, input, parsed, known);
  }

  async function beginAfter(
    following: Promise<void>,
    input: ExchangeInput,
    parsed: ParsedBody,
    known: Known,
  ): Promise<ExchangeResult> {
    await following;
    return await begin(input, parsed, known);
  }

  async function askFor(input: ExchangeInput, id: string): Promise<ExchangeResult> {
    const { endpoint } = input;
    const catalog = deps.catalog.peek() ?? (await deps.catalog.snapshot());
    if (deps.responses === undefined)
      throw new ProxyError("response_not_found", "There is no such response.");
    const found = await deps.responses.find(id, input.caller, catalog);
    // The id is part of the address, so that there is a route for each.
    const route = makeRoute(found.model, { endpoint, id: encodeURIComponent(id) }, routeDeps);
    const subject = toSubject(input, NO_STREAM, route.model);
    await accounts.limits.current(subject);
    const isDeletion = toRow(endpoint).method === "DELETE";
    const responses = new AskedResponse(deps.responses, found, { id, isDeletion });
    return begin(input, null, { route, subject, responses });
  }

  /** `parsed`: null for a request without a body. */
  function begin(
    input: ExchangeInput,
    parsed: ParsedBody | null,
    { route, subject, responses }: Known,
  ): Promise<ExchangeResult> {
    const warnings = accounts.limits.admit(subject, route.hasPrice);
    const account = accounts.open(input.arrivedAtMs, { subject, terms: route });
    const cancellation = shared.openCancellation(input.connection);
    responses?.began(account);
    if ((input.reservation ?? null) !== null) account.own(toHeldBody(input, cancellation));
    return forward(input, parsed, {
      route,
      shared,
      proxiedBy: withLimitWarnings(route.proxiedBy, warnings),
      arrivedAtUs: input.arrivedAtUs,
      lane,
      isBrowser: isFromBrowser(input.headers),
      credential: route.credential,
      idleMs: route.model.provider.timeoutReadSeconds * 1000,
      account,
      cancellation,
      responses,
      principalId: input.caller.principalId,
    });
  }

  /** All of an exchange that waits is one function: each more that is left and entered again costs every request. */
  async function forward(
    input: ExchangeInput,
    parsed: ParsedBody | null,
    open: RoutedExchange,
  ): Promise<ExchangeResult> {
    const { route, account, cancellation, idleMs } = open;
    const { queue, target, authHeader } = route;
    const { method, meter, passesQuery } = toRow(input.endpoint);
    const { maxConcurrency } = route.model.provider;
    const streamed = parsed?.stream === true;
    const untilMs = streamed ? null : clock.monotonicMs() + idleMs;
    try {
      let permit = queue.tryAcquire(maxConcurrency);
      if (permit === null) {
        // For as long as reading may take, or until the caller leaves.
        cancellation.arm(idleMs);
        permit = await queue.acquire(maxConcurrency, cancellation.signal);
      }
      if (permit === null) return await giveUp(open, NO_PERMIT, NEVER_SENT);
      permit.whenCut(cancellation);
      account.own(permit);

      const body = parsed === null ? null : toUpstreamBody(input, parsed, route);
      const headers = toUpstreamHeaders(input.headers, {
        authHeader,
        contentType: parsed !== null && isForm(parsed) ? input.headers.get("content-type") : null,
        bodyBytes: body === null ? null : "sizeBytes" in body ? body.sizeBytes : body.length,
      });
      await accounts.written();
      const head = await upstream.call({
        method,
        target,
        url: passesQuery === true && input.query !== "" ? withQuery(target.url, input.query) : target.url,
        headers,
        body,
        cancellation,
        headMs: idleMs,
        untilMs,
      });
      if (head.kind === "failed") {
        free(input.body);
        return await giveUp(open, head, head.isSent ? null : NEVER_SENT);
      }
      return await respond(open, head, { streamed, meter, buffered, departures });
    } catch (failure) {
      await breakOff(open);
      throw failure;
    }
  }
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
function toHeldBody({ body, reservation }: ReceivedBody, { signal }: Cancellation): Disposable {
  return {
    [Symbol.dispose]() {
      // An upstream that answered early may still be taking it; a cancelled one takes no more.
      if (signal.aborted) free(body);
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

/** The body that goes upstream. A short one is there at once, as a copy, and the memory of what came is freed. */
function toUpstreamBody(
  received: ReceivedBody,
  parsed: ParsedBody,
  route: Pick<Route, "model" | "upstreamName">,
): Uint8Array<ArrayBuffer> | Upload {
  const { body, reservation = null } = received;
  if (reservation !== null) return toUpload(received, cut(parsed, route));
  const spliced = isForm(parsed) ? Buffer.concat(cut(parsed, route)) : spliceBody(parsed, route.upstreamName);
  free(body);
  return spliced;
}

function cut(
  parsed: ParsedBody,
  { model, upstreamName }: Pick<Route, "model" | "upstreamName">,
): Uint8Array[] {
  return isForm(parsed) ? cutForm(parsed, Buffer.from(model.upstreamName)) : cutBody(parsed, upstreamName);
}

/** Throws `invalid_multipart` where the upstream name would end a part of a form. */
function refuseName(parsed: ParsedBody, { model }: Pick<Route, "model">): void {
  if (isForm(parsed)) refuseDelimiterIn(parsed, Buffer.from(model.upstreamName));
}
