import { free } from "#kernel/bytes.ts";
import { ProxyError } from "#kernel/errors.ts";
import { describeCause } from "#kernel/log.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { type ProxiedBy, toProxiedBy, toRelayHeaders } from "./headers.ts";
import type { OpenRequests } from "./open-requests.ts";
import { passOn } from "./pass-on.ts";
import { ProxiedRequest, type RequestHead, type RequestTerms } from "./proxied-request.ts";
import { breakOff, type ForwardResult, giveUp, NEVER_SENT } from "./request-end.ts";
import { createRelayMetering, hasPrices } from "./metering.ts";
import {
  type Asked,
  createAskedScan,
  createScanBudget,
  isPlainJson,
  NOTHING_ASKED,
  readAsked,
  readAskedInTurns,
  readWholeBody,
  toModelName,
} from "./relay-body.ts";
import { type UpstreamBody, type UpstreamHead, type BodySource, createUpload } from "./upstream.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import { truncateCodePoints } from "#kernel/text.ts";
import { type ModelPrices, NO_PRICES } from "#kernel/price-variants.ts";
import { byUnit, UNITS } from "#kernel/units.ts";

export interface Relay {
  /**
   * One request in and one out, both unchanged but for the headers of section 4.5, and exactly one usage event, unless it
   * is a HEAD or OPTIONS. The call of a streamed body that is refused on its way has been broken off by its end.
   */
  send(input: RelayInput): Promise<ForwardResult>;
}

interface RelayOptions {
  /** The URL that relayed paths are appended to; without a trailing slash. */
  readonly baseUrl: string;
  readonly connectSeconds?: number;
  readonly silenceSeconds?: number;
  /** Bytes of streaming request bodies that are kept for their scan. */
  readonly scannedBytesTotalMax?: number;
}

/** Limits of the relay (decisions, "Sign-in"). */
const CONNECT_SECONDS = 10;
const SILENCE_SECONDS = 300;

const UNRECORDED_METHODS: ReadonlySet<string> = new Set(["HEAD", "OPTIONS"]);

/** The transparent relay to a messages API (specification, section 4.5). */
export function createRelay(requests: OpenRequests, options: RelayOptions): Relay {
  const { limits, upstream } = requests;
  const { catalog, log } = requests.deps;
  const { baseUrl, connectSeconds = CONNECT_SECONDS, silenceSeconds = SILENCE_SECONDS } = options;
  const idleMs = silenceSeconds * 1000;
  const provider = { verifyTls: true, caPem: null, timeoutConnectSeconds: connectSeconds };
  const target = upstream.openTarget(baseUrl, provider);
  const budget = createScanBudget(options.scannedBytesTotalMax);

  return {
    async send(input) {
      const { body } = input;
      return await (body === null || body instanceof Uint8Array
        ? sendHeld(input, body)
        : sendStreamed(input, body));
    },
  };

  function toRequest(input: RelayInput, { model, streamed }: Asked): RelayedRequest {
    const request = new ProxiedRequest(requests, input, new RelayTerms(input, model, idleMs));
    request.streamed = streamed;
    request.isRecorded = !UNRECORDED_METHODS.has(input.method);
    return request;
  }

  /** Brings limits and prices up to date with what another process may have changed: `admit` asks memory alone. */
  async function follow(request: RelayedRequest): Promise<void> {
    await limits.current(request);
    if (catalog.peek() !== null) return;
    try {
      await catalog.snapshot();
    } catch (failure) {
      log.warn("prices could not be read again", describeCause(failure));
    }
  }

  async function sendHeld(input: RelayInput, body: Uint8Array | null): Promise<ForwardResult> {
    const asked = body === null ? NOTHING_ASKED : readAsked(body);
    const request = toRequest(input, asked);
    if (request.isRecorded) {
      await follow(request);
      if (body !== null) requireModel(input, request, asked);
      admit(request);
      request.begin();
    }
    request.open();
    return await forward(input, body, request);
  }

  /** The model is known only when the body has been read, so the event begins then, or at the request's end if that is earlier. */
  async function sendStreamed(input: RelayInput, source: BodySource): Promise<ForwardResult> {
    const request = toRequest(input, NOTHING_ASKED);
    // Limits that name no model refuse before anything goes upstream. Whether it has a price is not known yet.
    if (request.isRecorded) {
      await follow(request);
      request.warnings = limits.admit(request, () => true);
      if (!request.terms.usesNothing && limits.dependsOnModel(request)) return await sendRead(input, source);
    }
    request.open();
    const scan = createAskedScan(budget.of(request.principalId), source.sizeBytes);
    // Runs as well when the upload is never read to its end.
    request.held = { [Symbol.dispose]: () => scan.release() };
    const upload: { refusal: ProxyError | null; isAbandoned: boolean } = {
      refusal: null,
      isAbandoned: false,
    };
    let leftBytes = source.sizeBytes;
    let isWhole = false;
    const endUpload = async () => {
      isWhole = true;
      try {
        const { model, streamed } = await scan.finish();
        request.ask(new RelayTerms(input, model, idleMs), streamed);
        if (request.isRecorded) {
          await follow(request);
          admit(request);
        }
      } catch (refusal) {
        request.abandon();
        upload.isAbandoned = true;
        throw refusal;
      }
      if (request.isRecorded) request.begin();
      await requests.written();
    };
    const watched: BodySource = {
      sizeBytes: source.sizeBytes,
      async next() {
        // The next chunk may be long in coming.
        scan.left();
        try {
          const chunk = await source.next();
          if (chunk !== null) scan.push(chunk);
          if (chunk !== null && leftBytes !== null) leftBytes -= chunk.length;
          // With its last byte an upstream has all of a request whose length it knows, and begins to answer it.
          if (!isWhole && (chunk === null || leftBytes === 0)) await endUpload();
          return chunk;
        } catch (failure) {
          if (failure instanceof ProxyError) upload.refusal = failure;
          request.cancellation.cancel("cancelled");
          throw failure;
        }
      },
    };
    const answer = await forward(input, watched, request);
    const { refusal } = upload;
    if (refusal === null || answer.kind === "responded") return answer;
    // It left no event, and is told of as any other refusal.
    if (upload.isAbandoned) throw refusal;
    return { kind: "refused", refusal };
  }

  /** As `sendStreamed`, for a caller whose limits have to know the model: nothing goes upstream before it is known. */
  async function sendRead(input: RelayInput, source: BodySource): Promise<ForwardResult> {
    const share = budget.of(input.caller.principalId);
    const body = await readWholeBody(source, share);
    const sizeBytes = body.length;
    let keptBytes = sizeBytes;
    const giveBack = () => {
      share.giveBack(keptBytes);
      keptBytes = 0;
    };
    const release = () => {
      free(body);
      giveBack();
    };
    try {
      const asked = await readAskedInTurns(body);
      const request = toRequest(input, asked);
      await follow(request);
      if (sizeBytes > 0) requireModel(input, request, asked);
      admit(request);
      request.begin();
      request.open();
      request.held = {
        // An upstream that answered early may still be taking it; a cancelled one takes no more.
        [Symbol.dispose]: () => (request.cancellation.isCutOff ? release() : giveBack()),
      };
      return await forward(input, createUpload([body], release), request);
    } catch (failure) {
      release();
      throw failure;
    }
  }

  /** Throws `invalid_request` where a limit has to know the model, and the upstream might read another one than was read here. */
  function requireModel({ headers }: RelayInput, request: RelayedRequest, { isPlain }: Asked): void {
    // Requests that use nothing, such as the telemetry of Claude Code, need no model.
    if ((isPlain && isPlainJson(headers)) || request.terms.usesNothing) return;
    if (!limits.dependsOnModel(request)) return;
    throw new ProxyError(
      "invalid_request",
      "A limit goes by the model or the cost of your requests: a relayed body has to be one JSON object in UTF-8 (content-type: application/json), neither encoded nor a batch, that names its model once.",
      { param: "model" },
    );
  }

  /** Throws `limit_exceeded`. */
  function admit(request: RelayedRequest): void {
    const { terms } = request;
    const hasPrice = () => {
      const current = catalog.peek();
      return hasPrices((current === null ? null : terms.findPrices(current)) ?? NO_PRICES, "messages");
    };
    request.warnings = limits.admit(request, () => terms.usesNothing || hasPrice());
  }

  async function forward(
    input: RelayInput,
    body: UpstreamBody,
    request: RelayedRequest,
  ): Promise<ForwardResult> {
    const { method, path, query, token, headers } = input;
    const { cancellation } = request;
    try {
      await requests.written();
      const head = await upstream.call({
        method,
        target,
        url: baseUrl + path + query,
        headers: toRelayHeaders(headers, { token, bodyBytes: toSizeBytes(body) }),
        body,
        cancellation,
        headMs: idleMs,
        untilMs: null,
      });
      if (head.kind === "failed") return await giveUp(request, head, head.isSent ? null : NEVER_SENT);
      request.answered(head.response.status);
      const metering = createRelayMetering(head, { counting: isCounting(input) });
      const answer = await passOn(request, head, metering);
      if (method === "HEAD" && answer.kind === "responded") keepLength(head, answer.response);
      return answer;
    } catch (failure) {
      await breakOff(request);
      throw failure;
    }
  }
}

type RelayedRequest = ProxiedRequest<RelayTerms>;

function toSizeBytes(body: UpstreamBody): number | null {
  if (body === null) return null;
  return body instanceof Uint8Array ? body.length : body.sizeBytes;
}

/** A HEAD says how long the body would be (RFC 9110, section 9.3.2); there is none whose framing would be ours. */
function keepLength({ contentLength }: UpstreamHead, to: Response): void {
  if (contentLength !== null) to.headers.set("content-length", contentLength);
}

/** A request of the relay, ready to go upstream. */
export interface RelayInput extends RequestHead {
  readonly method: string;
  /** The path behind the token, as it came: begins with a slash, and holds neither query nor dot segments. */
  readonly path: string;
  /** The query as it came, with its question mark; empty when there was none. */
  readonly query: string;
  /** The relay token, which no forwarded header may carry. */
  readonly token: string;
  readonly body: UpstreamBody;
}

/** Limit of a usage event's endpoint, in code points. Longer than any path of the API. */
export const ENDPOINT_LENGTH_MAX = 256;

/** What a relayed request asks for, as far as it is known, with the prices that hold for it. */
export class RelayTerms implements RequestTerms {
  readonly providerId = RELAY_PROVIDER;
  readonly providerName = RELAY_PROVIDER;
  readonly knownPrices = NO_PRICES;
  /** The caller's own goes up, and may come back to it. */
  readonly credential = null;
  readonly endpoint: string;
  readonly model: string | null;
  readonly usesNothing: boolean;
  readonly idleMs: number;
  readonly #input: Pick<RelayInput, "method" | "path">;

  constructor(input: Pick<RelayInput, "method" | "path">, model: string | null, idleMs: number) {
    this.endpoint = truncateCodePoints(input.path, ENDPOINT_LENGTH_MAX);
    this.model = model;
    this.usesNothing = !isMetered(input);
    this.idleMs = idleMs;
    this.#input = input;
  }

  get upstreamName(): string | null {
    return this.model;
  }

  get proxiedBy(): ProxiedBy {
    return toProxiedBy(RELAY_PROVIDER, this.model);
  }

  /** Relayed models are in no catalog: a price is whatever is kept under exactly this name. */
  findPrices(catalog: CatalogSnapshot): ModelPrices | null {
    const { model } = this;
    if (model === null) return null;
    const prices = byUnit(UNITS, (unit) => catalog.findPrice(model, unit)?.pricePico ?? undefined);
    return { prices, variants: catalog.findVariants(model)?.variants ?? [] };
  }

  named(told: string): RelayTerms | null {
    const name = this.model === null ? toModelName(told) : null;
    return name === null ? null : new RelayTerms(this.#input, name, this.idleMs);
  }
}

/** Answers of these paths count tokens and use none: of the messages and of the responses API. */
const COUNTING_PATH = /\/(?:messages\/count_tokens|responses\/input_tokens)\/?$/;

/** Claude Code sends its telemetry to wherever it sends messages. */
const TELEMETRY_PATH = /^\/api\/event_logging\//;

function isCounting({ path }: Pick<RelayInput, "path">): boolean {
  return COUNTING_PATH.test(path);
}

/** True when it uses something, on whatever endpoint: one that no meter knows must not pass unseen. */
function isMetered({ method, path }: Pick<RelayInput, "method" | "path">): boolean {
  return method !== "GET" && method !== "DELETE" && !isCounting({ path }) && !TELEMETRY_PATH.test(path);
}
