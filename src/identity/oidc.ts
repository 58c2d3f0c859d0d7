import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  calculatePKCECodeChallenge,
  ClientSecretBasic,
  ClientSecretPost,
  customFetch,
  discovery,
  enableNonRepudiationChecks,
  fetchUserInfo,
  None,
  type ClientAuth,
  type Configuration,
} from "openid-client";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import { createExchangeSlots } from "./exchange-slots.ts";
import { describeProviderFailure } from "./oidc-failure.ts";
import { checkProviderUrl, createBoundedFetch, PROVIDER_REQUEST_MS_MAX } from "./oidc-fetch.ts";
import type { Peer } from "./peer.ts";

/** How long the provider's metadata is cached; after a failure it is read again at once. */
export const DISCOVERY_AGE_MS_MAX = 3_600_000;
/** OpenID Connect Core 1.0, section 2: no longer than 255 ASCII characters. */
export const SUBJECT_LENGTH_MAX = 255;
/** An ID token from the future is refused; clocks that differ a little are not. */
export const ISSUED_AHEAD_SECONDS_MAX = 300;

/** What one sign-in sends out, and expects back. */
export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly state: string;
  readonly nonce: string;
  /** RFC 7636, section 4.1. */
  readonly codeVerifier: string;
}

/** The account that signed in, as the provider has proved it. */
export interface ProvenIdentity {
  /** `iss` of the ID token. */
  readonly issuer: string;
  readonly subject: string;
  /** User info's claim, else the ID token's; undefined when neither has it, or both have null. */
  claim(name: string): unknown;
}

/** An OpenID provider, found by discovery from its issuer at the first sign-in and never before. */
export interface OpenIdProvider {
  /** Where to send the browser. Throws `sso_exchange_failed` when the provider's metadata cannot be had. */
  buildAuthorizationUrl(request: AuthorizationRequest): Promise<string>;
  /**
   * Redeems the code of a callback whose `state` was found good. The ID token is verified (signature, `iss`, `aud`, `exp`,
   * `nonce`), and user info has to have the same `sub`. Throws `sso_exchange_failed` and `sso_userinfo_failed`.
   */
  redeem(request: AuthorizationRequest, callback: URLSearchParams, peer: Peer): Promise<ProvenIdentity>;
}

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
  /** What was cached may be what failed: endpoints move and keys change. */
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
