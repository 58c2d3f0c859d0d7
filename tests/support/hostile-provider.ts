import { createHmac, generateKeyPairSync, sign, type KeyObject } from "node:crypto";
import "./loopback.ts";

type Json = Readonly<Record<string, unknown>>;
type Answer = Json | string | Response | Promise<Response>;

/** What is done instead of the honest thing; each is given what would have been honest. */
export interface Attack {
  readonly discovery?: (document: Json) => Answer;
  /** The way back to the client. */
  readonly callback?: (url: URL) => URL;
  readonly token?: (answer: Json) => Answer;
  readonly claims?: (claims: Json) => Json;
  readonly idToken?: (claims: Json, header: Json) => string;
  readonly jwks?: (keys: Json) => Answer;
  readonly userInfo?: (claims: Json) => Answer;
}

export interface HostileProvider {
  readonly issuer: string;
  /** Who signs in, for an honest answer: claims of user info. */
  account: Json;
  attack: Attack;
  /** Plays the authorization endpoint: a browser would come back to this URL. */
  authorize(authorizationUrl: URL): URL;
  /** Requests to the address that redirects point to. */
  readonly strays: readonly string[];
  /** Requests so far, by endpoint. */
  readonly requests: readonly string[];
  stop(): Promise<void>;
}

/** Stands in everything hostile that could be repeated to somebody. */
export const PLANTED = "planted-by-the-provider";

const honestKey = generateKeyPairSync("rsa", { modulusLength: 2048 });
export const otherKey = generateKeyPairSync("rsa", { modulusLength: 2048 });

/**
 * An OpenID provider of our own that does nothing right that an attack says to do wrong. It checks neither codes nor
 * verifiers nor secrets: whatever is refused is refused by the client.
 */
export function startHostileProvider(clientId: string): HostileProvider {
  const strays: string[] = [];
  const requests: string[] = [];
  const nonces = new Map<string, string>();
  const provider = { account: {}, attack: {} } as { account: Json; attack: Attack };
  let codes = 0;

  const endpoints: Readonly<Record<string, (request: Request) => Promise<Answer> | Answer>> = {
    "/.well-known/openid-configuration": () => {
      const document = {
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/jwks`,
        userinfo_endpoint: `${issuer}/userinfo`,
        response_types_supported: ["code"],
        subject_types_supported: ["public"],
        id_token_signing_alg_values_supported: ["RS256"],
      };
      return provider.attack.discovery?.(document) ?? document;
    },
    "/token": async (request) => {
      const code = new URLSearchParams(await request.text()).get("code") ?? "";
      const now = Math.floor(Date.now() / 1000);
      const honest = {
        iss: issuer,
        aud: clientId,
        sub: provider.account["sub"],
        iat: now,
        exp: now + 60,
        nonce: nonces.get(code),
      };
      const claims = provider.attack.claims?.(honest) ?? honest;
      const header = { alg: "RS256", kid: "honest", typ: "JWT" };
      const idToken = provider.attack.idToken?.(claims, header) ?? signJws(claims, header);
      const answer = { access_token: "at-secret", token_type: "Bearer", expires_in: 60, id_token: idToken };
      return provider.attack.token?.(answer) ?? answer;
    },
    "/jwks": () => {
      const keys = {
        keys: [{ ...toPublicJwk(honestKey.publicKey), kid: "honest", alg: "RS256", use: "sig" }],
      };
      return provider.attack.jwks?.(keys) ?? keys;
    },
    "/userinfo": () => provider.attack.userInfo?.(provider.account) ?? provider.account,
  };

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 60,
    async fetch(request) {
      const { pathname } = new URL(request.url);
      requests.push(pathname);
      const endpoint = endpoints[pathname];
      if (endpoint === undefined) {
        strays.push(pathname);
        return Response.json({ error: PLANTED });
      }
      const answer = await endpoint(request);
      if (answer instanceof Response) return answer;
      return typeof answer === "string"
        ? new Response(answer, { headers: { "content-type": "text/html" } })
        : Response.json(answer);
    },
  });
  const issuer = `http://127.0.0.1:${server.port}`;
  return Object.assign(provider, {
    issuer,
    strays,
    requests,
    authorize(authorizationUrl: URL) {
      const query = authorizationUrl.searchParams;
      codes += 1;
      const code = `code-secret-${codes}`;
      nonces.set(code, query.get("nonce") ?? "");
      const url = new URL(query.get("redirect_uri") ?? "");
      url.searchParams.set("code", code);
      url.searchParams.set("state", query.get("state") ?? "");
      return provider.attack.callback?.(url) ?? url;
    },
    stop: () => server.stop(true),
  });
}

/** A compact JWS, by the honest key unless another is given; `null` leaves the signature out. */
export function signJws(
  claims: Json,
  header: Json,
  key: KeyObject | string | null = honestKey.privateKey,
): string {
  const input = `${encode(header)}.${encode(claims)}`;
  if (key === null) return `${input}.`;
  const signature =
    typeof key === "string"
      ? createHmac("sha256", key).update(input).digest()
      : sign("sha256", Buffer.from(input), key);
  return `${input}.${signature.toString("base64url")}`;
}

/** The public key as text, for the attack that takes it for a shared secret. */
export function honestPublicPem(): string {
  return honestKey.publicKey.export({ type: "spki", format: "pem" });
}

export function toPublicJwk(key: KeyObject): Json {
  return { ...key.export({ format: "jwk" }) };
}

/** Never an answer. */
export function hang(): Promise<Response> {
  return new Promise(() => undefined);
}

function encode(value: Json): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}
