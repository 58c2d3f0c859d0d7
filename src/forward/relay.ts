import { free } from "#kernel/bytes.ts";
import { ProxyError } from "#kernel/errors.ts";
import { describeCause } from "#kernel/log.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import type { Account, AccountSubject, LateAccount } from "./account.ts";
import {
  type ForwardResult,
  type OpenExchange,
  breakOff,
  giveUp,
  NEVER_SENT,
  type Shared,
} from "./open-exchange.ts";
import { passOn } from "./pass-on.ts";
import { isFromBrowser, toProxiedBy, toRelayHeaders, withLimitWarnings } from "./headers.ts";
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
import type { Caller } from "#kernel/cancellation.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { truncateCodePoints } from "#kernel/text.ts";
import { type ModelPrices, NO_PRICES } from "#kernel/price-variants.ts";
import { byUnit, UNITS } from "#kernel/units.ts";
import { toAttribution } from "./attribution.ts";

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
export function createRelay(shared: Shared, options: RelayOptions): Relay {
  const { accounts, upstream } = shared;
  const { lane = 0 } = accounts.deps;
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

  /** Brings limits and prices up to date with what another process may have changed: `admit` asks memory alone. */
  async function follow({ subject }: AccountSubject): Promise<void> {
    const { catalog, log } = accounts.deps;
    await accounts.limits.current(subject);
    if (catalog.peek() !== null) return;
    try {
      await catalog.snapshot();
    } catch (failure) {
      log.warn("prices could not be read again", describeCause(failure));
    }
  }

  async function sendHeld(input: RelayInput, body: Uint8Array<ArrayBuffer> | null): Promise<ForwardResult> {
    const asked = body === null ? NOTHING_ASKED : readAsked(body);
    const subject = isRecorded(input) ? toAccountSubject(input, asked) : null;
    if (subject !== null) await follow(subject);
    if (subject !== null && body !== null) requireModel(input, subject, asked);
    const warnings = subject === null ? null : admit(input, subject);
    const account = subject === null ? createUnrecordedAccount() : accounts.open(input.arrivedAtMs, subject);
    return await forward(
      input,
      body,
      begin(input, account, () => ({ asked, warnings })),
    );
  }

  /** The model is known only when the body has been read, so the event begins then, or at the request's end if that is earlier. */
  async function sendStreamed(input: RelayInput, source: BodySource): Promise<ForwardResult> {
    const passage: Passage = { asked: NOTHING_ASKED, warnings: null, refusal: null, isAbandoned: false };
    // Limits that name no model refuse before anything goes upstream. Whether it has a price is not known yet.
    if (isRecorded(input)) {
      const known = toAccountSubject(input, NOTHING_ASKED);
      await follow(known);
      passage.warnings = accounts.limits.admit(known.subject, () => true);
      if (isMetered(input) && accounts.limits.dependsOnModel(known.subject))
        return await sendRead(input, source);
    }
    const account = isRecorded(input)
      ? accounts.openLate(input.arrivedAtMs, () => toAccountSubject(input, passage.asked))
      : createUnrecordedAccount();
    const open = begin(input, account, () => passage);
    const scan = createAskedScan(budget.of(input.caller.principalId), source.sizeBytes);
    // Runs as well when the upload is never read to its end.
    account.own({ [Symbol.dispose]: () => scan.release() });
    let leftBytes = source.sizeBytes;
    let isWhole = false;
    const endUpload = async () => {
      isWhole = true;
      try {
        passage.asked = await scan.finish();
        if (isRecorded(input)) {
          const subject = toAccountSubject(input, passage.asked);
          await follow(subject);
          passage.warnings = admit(input, subject);
        }
      } catch (refusal) {
        account.abandon();
        passage.isAbandoned = true;
        throw refusal;
      }
      account.begin();
      await accounts.written();
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
          if (failure instanceof ProxyError) passage.refusal = failure;
          open.cancellation.cancel("cancelled");
          throw failure;
        }
      },
    };
    const answer = await forward(input, watched, open);
    const { refusal } = passage;
    if (refusal === null || answer.kind === "responded") return answer;
    // It left no event, and is told of as any other refusal.
    if (passage.isAbandoned) throw refusal;
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
      const subject = toAccountSubject(input, asked);
      await follow(subject);
      if (sizeBytes > 0) requireModel(input, subject, asked);
      const warnings = admit(input, subject);
      const account = accounts.open(input.arrivedAtMs, subject);
      const open = begin(input, account, () => ({ asked, warnings }));
      account.own({
        // An upstream that answered early may still be taking it; a cancelled one takes no more.
        [Symbol.dispose]: () => (open.cancellation.signal.aborted ? release() : giveBack()),
      });
      return await forward(input, createUpload([body], release), open);
    } catch (failure) {
      release();
      throw failure;
    }
  }

  /** Throws `invalid_request` where a limit has to know the model, and the upstream might read another one than was read here. */
  function requireModel(input: RelayInput, { subject }: AccountSubject, { isPlain }: Asked): void {
    // Requests that use nothing, such as the telemetry of Claude Code, need no model.
    if ((isPlain && isPlainJson(input.headers)) || !isMetered(input)) return;
    if (!accounts.limits.dependsOnModel(subject)) return;
    throw new ProxyError(
      "invalid_request",
      "A limit goes by the model or the cost of your requests: a relayed body has to be one JSON object in UTF-8 (content-type: application/json), neither encoded nor a batch, that names its model once.",
      { param: "model" },
    );
  }

  /** Throws `limit_exceeded`; the names of limits that warn, or null. */
  function admit(
    input: RelayInput,
    { subject, terms: { pricing } }: AccountSubject,
  ): readonly string[] | null {
    const hasPrice = () => {
      const catalog = accounts.deps.catalog.peek();
      return hasPrices((catalog === null ? null : pricing.findIn(catalog)) ?? pricing.known, "messages");
    };
    return accounts.limits.admit(subject, () => !isMetered(input) || hasPrice());
  }

  function begin(input: RelayInput, account: Account, findAsked: () => AskedAndWarned): OpenExchange {
    return {
      shared,
      // A getter, since the model of a streamed body becomes known while it is being sent.
      get proxiedBy() {
        const { asked, warnings } = findAsked();
        return withLimitWarnings(toProxiedBy(RELAY_PROVIDER, asked.model), warnings);
      },
      arrivedAtUs: input.arrivedAtUs,
      lane,
      isBrowser: isFromBrowser(input.headers),
      // The caller's own goes up, and may come back to it.
      credential: null,
      responses: null,
      idleMs,
      account,
      cancellation: shared.openCancellation(input.connection),
      principalId: input.caller.principalId,
    };
  }

  async function forward(input: RelayInput, body: UpstreamBody, open: OpenExchange): Promise<ForwardResult> {
    const { method, path, query, token, headers } = input;
    const { account, cancellation } = open;
    try {
      await accounts.written();
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
      if (head.kind === "failed") return await giveUp(open, head, head.isSent ? null : NEVER_SENT);
      account.answered(head.response.status);
      const answer = await passOn(open, head, createRelayMetering(head, { counting: isCounting(input) }));
      if (method === "HEAD" && answer.kind === "responded") keepLength(head, answer.response);
      return answer;
    } catch (failure) {
      await breakOff(open);
      throw failure;
    }
  }
}

interface AskedAndWarned {
  readonly asked: Asked;
  /** Names of limits that it has met and that only warn. */
  readonly warnings: readonly string[] | null;
}

/** State of a streamed body while it passes. */
interface Passage extends AskedAndWarned {
  asked: Asked;
  warnings: readonly string[] | null;
  refusal: ProxyError | null;
  isAbandoned: boolean;
}

function isRecorded({ method }: RelayInput): boolean {
  return !UNRECORDED_METHODS.has(method);
}

function toSizeBytes(body: UpstreamBody): number | null {
  if (body === null) return null;
  return body instanceof Uint8Array ? body.length : body.sizeBytes;
}

/** A HEAD says how long the body would be (RFC 9110, section 9.3.2); there is none whose framing would be ours. */
function keepLength({ contentLength }: UpstreamHead, to: Response): void {
  if (contentLength !== null) to.headers.set("content-length", contentLength);
}

/** An account of a request that leaves no event. */
function createUnrecordedAccount(): LateAccount {
  let settled = false;
  const held: Disposable[] = [];
  return {
    begin: () => undefined,
    abandon: () => undefined,
    answered: () => undefined,
    firstByte: () => undefined,
    background: () => Promise.resolve(),
    own: (one) => void held.push(one),
    costPico: null,
    settle() {
      if (!settled) for (const one of held) one[Symbol.dispose]();
      settled = true;
      return Promise.resolve();
    },
  };
}

/** A request of the relay, ready to go upstream. */
export interface RelayInput {
  readonly method: string;
  /** The path behind the token, as it came: begins with a slash, and holds neither query nor dot segments. */
  readonly path: string;
  /** The query as it came, with its question mark; empty when there was none. */
  readonly query: string;
  /** The relay token, which no forwarded header may carry. */
  readonly token: string;
  readonly caller: {
    readonly principalId: string;
    readonly principalName: string;
    readonly relayTokenId: string;
    readonly fixedTags: readonly string[];
  };
  readonly headers: Headers;
  readonly body: UpstreamBody;
  readonly arrivedAtUs: InstantUs;
  readonly arrivedAtMs: number;
  /** The connection that the request came by. */
  readonly connection: Caller;
}

/** Limit of a usage event's endpoint, in code points. Longer than any path of the API. */
export const ENDPOINT_LENGTH_MAX = 256;

/** The subject of a relayed request, with the prices that hold for it. */
export function toAccountSubject(
  input: RelayInput,
  { model, streamed }: Pick<Asked, "model" | "streamed">,
): AccountSubject {
  const { caller, headers } = input;
  return {
    subject: {
      arrivedAtUs: input.arrivedAtUs,
      principalId: caller.principalId,
      principalName: caller.principalName,
      keyId: null,
      relayTokenId: caller.relayTokenId,
      providerId: RELAY_PROVIDER,
      model,
      upstreamName: model,
      endpoint: truncateCodePoints(input.path, ENDPOINT_LENGTH_MAX),
      ...toAttribution(headers, caller.fixedTags),
      streamed,
    },
    terms: {
      providerName: RELAY_PROVIDER,
      usesNothing: !isMetered(input),
      pricing: {
        known: NO_PRICES,
        findIn: (catalog) => (model === null ? null : findPrices(catalog, model)),
      },
      ...(model === null && {
        named: (told: string) => {
          const name = toModelName(told);
          return name === null ? null : toAccountSubject(input, { model: name, streamed });
        },
      }),
    },
  };
}

/** Answers of these paths count tokens and use none: of the messages and of the responses API. */
const COUNTING_PATH = /\/(?:messages\/count_tokens|responses\/input_tokens)\/?$/;

/** Claude Code sends its telemetry to wherever it sends messages. */
const TELEMETRY_PATH = /^\/api\/event_logging\//;

function isCounting({ path }: Pick<RelayInput, "path">): boolean {
  return COUNTING_PATH.test(path);
}

/** True when it uses something, on whatever endpoint: one that no meter knows must not pass unseen. */
export function isMetered({ method, path }: Pick<RelayInput, "method" | "path">): boolean {
  return method !== "GET" && method !== "DELETE" && !isCounting({ path }) && !TELEMETRY_PATH.test(path);
}

/** Relayed models are in no catalog: a price is whatever is kept under exactly this name. */
function findPrices(catalog: CatalogSnapshot, model: string): ModelPrices {
  const prices = byUnit(UNITS, (unit) => catalog.findPrice(model, unit)?.pricePico ?? undefined);
  return { prices, variants: catalog.findVariants(model)?.variants ?? [] };
}
