import {
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  None,
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
} from "openid-client";
import { createFairQueue } from "./fair-queue.ts";
import {
  type AuthorizationRequest,
  describeProviderFailure,
  type OpenIdProvider,
  type ProvenIdentity,
} from "./sso.ts";
import type { Peer } from "./peer.ts";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import { isLoopback } from "#kernel/host-name.ts";
import { withinLimit } from "#kernel/timer.ts";

/** The provider's metadata is cached for so long; after a failure it is read again at once. */
export const DISCOVERY_AGE_MS_MAX = 3_600_000;
/** OpenID Connect Core 1.0, section 2: no longer than 255 ASCII characters. */
const SUBJECT_LENGTH_MAX = 255;
/** An ID token from the future is refused; clocks that differ a little are not. */
const ISSUED_AHEAD_SECONDS_MAX = 300;

export interface OpenIdProviderDeps {
  readonly issuer: string;
  readonly clientId: string;
  /** Null: a public client. */
  readonly clientSecret: string | null;
  /** Space-separated; `openid` is one of them. */
  readonly scopes: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Time limit of each request to the provider. Default `PROVIDER_REQUEST_MS_MAX`. */
  readonly requestMsMax?: number;
}

interface Discovered {
  readonly configuration: Promise<Configuration>;
  readonly readAtMs: number;
}

export function createOpenIdProvider(deps: OpenIdProviderDeps): OpenIdProvider {
  const { clock, log } = deps;
  const issuer = new URL(deps.issuer);
  const allowHttp = issuer.protocol === "http:";
  const fetchBounded = createBoundedFetch({
    allowHttp,
    requestMsMax: deps.requestMsMax ?? PROVIDER_REQUEST_MS_MAX,
  });
  let discovered: Discovered | null = null;
  const slots = createExchangeSlots(clock);

  const discover = () =>
    discovery(issuer, deps.clientId, undefined, toClientAuth(deps.clientSecret), {
      [customFetch]: fetchBounded,
      execute: allowHttp ? [enableNonRepudiationChecks, allowInsecureRequests] : [enableNonRepudiationChecks],
    });
  /** One request at a time, however many sign-ins wait for it. */
  const configure = async (): Promise<Configuration> => {
    const nowMs = clock.monotonicMs();
    if (discovered === null || nowMs - discovered.readAtMs > DISCOVERY_AGE_MS_MAX) {
      discovered = { configuration: discover(), readAtMs: nowMs };
    }
    const current = discovered;
    try {
      return await current.configuration;
    } catch (cause) {
      if (discovered === current) discovered = null;
      throw refuse("discovery", cause);
    }
  };
  const refuse = (step: "discovery" | "exchange" | "user info", cause: unknown): ProxyError => {
    log.warn("single sign-on failed at the identity provider", { step, ...describeProviderFailure(cause) });
    return step === "user info"
      ? new ProxyError("sso_userinfo_failed", "The identity provider did not tell who signed in.", { cause })
      : new ProxyError("sso_exchange_failed", "The sign-in with the identity provider failed.", { cause });
  };
  /** Cached metadata may be the reason of a failure: endpoints move and keys change. */
  const refuseAndForget = (step: "exchange" | "user info", cause: unknown): ProxyError => {
    discovered = null;
    return refuse(step, cause);
  };

  const redeem = async (
    request: AuthorizationRequest,
    callback: URLSearchParams,
  ): Promise<ProvenIdentity> => {
    const configuration = await configure();
    const { accessToken, idClaims } = await exchange(configuration, request, callback).catch((cause) => {
      throw refuseAndForget("exchange", cause);
    });
    const userInfo = await fetchUserInfo(configuration, accessToken, idClaims.sub).catch((cause) => {
      throw refuseAndForget("user info", cause);
    });
    return {
      issuer: idClaims.iss,
      subject: idClaims.sub,
      claim: (name) => readClaim(userInfo, name) ?? readClaim(idClaims, name),
    };
  };
  const exchange = async (
    configuration: Configuration,
    { redirectUri, state, nonce, codeVerifier }: AuthorizationRequest,
    callback: URLSearchParams,
  ) => {
    const callbackUrl = new URL(redirectUri);
    callbackUrl.search = callback.toString();
    const tokens = await authorizationCodeGrant(configuration, callbackUrl, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: codeVerifier,
      idTokenExpected: true,
    });
    const idClaims = tokens.claims();
    if (idClaims === undefined) throw new Error("no ID token");
    if (idClaims.sub === "" || idClaims.sub.length > SUBJECT_LENGTH_MAX) throw new Error("unusable subject");
    // The library leaves `iat` alone (it is not required to be looked at: Core 1.0, section 3.1.3.7, point 10).
    if (idClaims.iat > clock.nowUs() / 1_000_000 + ISSUED_AHEAD_SECONDS_MAX) {
      throw new Error("issued in the future");
    }
    return { accessToken: tokens.access_token, idClaims };
  };

  return {
    async buildAuthorizationUrl({ redirectUri, state, nonce, codeVerifier }) {
      const configuration = await configure();
      const challenge = await calculatePKCECodeChallenge(codeVerifier);
      try {
        const url = buildAuthorizationUrl(configuration, {
          redirect_uri: redirectUri,
          scope: deps.scopes,
          state,
          nonce,
          code_challenge: challenge,
          code_challenge_method: "S256",
        });
        checkProviderUrl(url, allowHttp);
        return url.href;
      } catch (cause) {
        discovered = null;
        throw refuse("discovery", cause);
      }
    },
    async redeem(request, callback, peer) {
      const identity = await slots.run(peer, () => redeem(request, callback));
      if (identity !== null) return identity;
      throw new ProxyError("sso_exchange_failed", "Too many people are signing in: try again in a moment.");
    },
  };
}

/** Client authentication that the provider's metadata asks for (OpenID Connect Discovery 1.0, section 3: `client_secret_basic` when it says nothing). */
function toClientAuth(secret: string | null): ClientAuth {
  if (secret === null) return None();
  const basic = ClientSecretBasic(secret);
  const post = ClientSecretPost(secret);
  return (server, client, body, headers) => {
    const methods: unknown = server.token_endpoint_auth_methods_supported;
    const postOnly =
      Array.isArray(methods) &&
      methods.includes("client_secret_post") &&
      !methods.includes("client_secret_basic");
    (postOnly ? post : basic)(server, client, body, headers);
  };
}

/** Own members only: the name comes from a setting, and may be `constructor`. */
function readClaim(claims: { readonly [name: string]: unknown }, name: string): unknown {
  return Object.hasOwn(claims, name) ? claims[name] : undefined;
}

/** Limit from the first byte sent to the last one read: a person waits for it in front of a page. */
const PROVIDER_REQUEST_MS_MAX = 10_000;
/** Thousands of groups fit. It is parsed on the thread that serves. */
const PROVIDER_RESPONSE_BYTES_MAX = 1024 * 1024;

/** Why a request to the identity provider was given up; the code may be logged. */
class ProviderFetchError extends Error {
  override readonly name = "ProviderFetchError";
  readonly code: "insecure_url" | "timeout" | "response_too_large";

  constructor(code: ProviderFetchError["code"]) {
    super(code);
    this.code = code;
  }
}

interface BoundedFetchOptions {
  /** Plain http, to loopback addresses only. */
  readonly allowHttp: boolean;
  readonly requestMsMax: number;
}

interface BoundedRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  /** A form, or nothing: all that an identity provider is ever sent. */
  readonly body?: unknown;
}

/**
 * `fetch` for an identity provider that may be slow, broken or hostile: bounded in time and size, the body read before it
 * resolves, no redirect followed (RFC 9700, section 4.11: a redirect would carry the code and our secret elsewhere).
 * Throws a `ProviderFetchError`, or what `fetch` throws. Of the answer's headers only the type of its body is kept.
 */
function createBoundedFetch({ allowHttp, requestMsMax }: BoundedFetchOptions) {
  return async (url: string, request: BoundedRequest): Promise<Response> => {
    checkProviderUrl(new URL(url), allowHttp);
    const cancellation = new AbortController();
    try {
      return await withinLimit(send(url, request, cancellation.signal), requestMsMax, () => {
        throw new ProviderFetchError("timeout");
      });
    } finally {
      // Closes the connection instead of reading the rest.
      cancellation.abort();
    }
  };
}

/** Throws `insecure_url` for what would send a secret or a browser in the clear to another machine. */
function checkProviderUrl(url: URL, allowHttp: boolean): void {
  if (url.protocol === "https:") return;
  if (allowHttp && url.protocol === "http:" && isLoopback(url.hostname)) return;
  throw new ProviderFetchError("insecure_url");
}

async function send(
  url: string,
  { method, headers, body }: BoundedRequest,
  signal: AbortSignal,
): Promise<Response> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, "accept-encoding": "identity" },
    body: body instanceof URLSearchParams ? body.toString() : null,
    // A few bytes could else become very many before the size is looked at.
    decompress: false,
    redirect: "manual",
    timeout: false,
    signal,
  });
  const bytes = await readBounded(response);
  const type = response.headers.get("content-type");
  return new Response(bytes, {
    status: response.status,
    headers: type === null ? {} : { "content-type": type },
  });
}

async function readBounded(response: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  if (response.body === null) return null;
  const body: ReadableStream<Uint8Array> = response.body;
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    sizeBytes += step.value.byteLength;
    if (sizeBytes > PROVIDER_RESPONSE_BYTES_MAX) throw new ProviderFetchError("response_too_large");
    chunks.push(step.value);
  }
  const bytes = new Uint8Array(sizeBytes);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

/** Each waits for the identity provider, which may hang. */
export const EXCHANGES_MAX = 32;
/** A network whose exchanges hang leaves the others room. */
export const EXCHANGES_OF_PEER_MAX = 16;
export const WAITING_OF_PEER_MAX = 100;
const WAITING_MAX = 500;
/** As long as two requests to a provider that hangs take, one behind the other. */
const WAIT_MS_MAX = 20_000;

/** Bounds what the server asks of the identity provider at once. */
interface ExchangeSlots {
  /** Runs `step` once there is a slot, and returns its result; null when too many wait for one. */
  run<Result>(peer: Peer, step: () => Promise<Result>): Promise<Result | null>;
}

function createExchangeSlots(clock: Clock): ExchangeSlots {
  const queue = createFairQueue(clock, {
    waitingOfPeerMax: WAITING_OF_PEER_MAX,
    waitingMax: WAITING_MAX,
    waitMsMax: WAIT_MS_MAX,
  });
  const runningOf = new Map<string, number>();
  let running = 0;
  const hasSlot = (network: string): boolean => (runningOf.get(network) ?? 0) < EXCHANGES_OF_PEER_MAX;
  const count = (network: string, change: 1 | -1): void => {
    running += change;
    const left = (runningOf.get(network) ?? 0) + change;
    if (left === 0) runningOf.delete(network);
    else runningOf.set(network, left);
  };
  return {
    async run({ network }, step) {
      if (running < EXCHANGES_MAX && hasSlot(network)) count(network, 1);
      else if (!(await queue.join(network))) return null;
      try {
        return await step();
      } finally {
        count(network, -1);
        // Counted here and not where its holder goes on, which is only later.
        const next = queue.callNext(hasSlot);
        if (next !== null) count(next, 1);
      }
    },
  };
}
