import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  DISCOVERY_AGE_MS_MAX,
  EXCHANGES_MAX,
  EXCHANGES_OF_PEER_MAX,
  type OpenIdProviderDeps,
  WAITING_OF_PEER_MAX,
  createOpenIdProvider,
} from "#identity/oidc.ts";
import { toPeer } from "#identity/peer.ts";
import type { Clock } from "#kernel/clock.ts";
import { createLog } from "#kernel/log.ts";
import { startHostileProvider, type HostileProvider } from "../support/hostile-provider.ts";
import { PEER, refusalOf } from "./support.ts";

const REQUEST = {
  redirectUri: "http://127.0.0.1:4000/auth/callback",
  state: "state",
  nonce: "nonce",
  codeVerifier: "v".repeat(64),
};
const CLIENT_ID = "lockport";

let provider: HostileProvider;
let elapsedMs: number;
let lines: string[];
beforeEach(() => {
  provider = startHostileProvider(CLIENT_ID);
  provider.account = { sub: "jane", preferred_username: "jane" };
  elapsedMs = 0;
  lines = [];
});
afterEach(() => provider.stop());

/** Real time, since tokens are dated by it, that can be moved on. */
const clock: Clock = {
  nowUs: () => (Date.now() + elapsedMs) * 1000,
  monotonicMs: () => performance.now() + elapsedMs,
};

function open(overrides: Partial<OpenIdProviderDeps> = {}) {
  return createOpenIdProvider({
    issuer: provider.issuer,
    clientId: CLIENT_ID,
    clientSecret: "s e:c%ret",
    scopes: "openid",
    clock,
    log: createLog({ level: "debug", json: true, write: (line) => lines.push(line), timestamp: () => "" }),
    ...overrides,
  });
}

/** To the provider and back: what the browser would bring to the callback. */
async function authorize(openId: ReturnType<typeof open>): Promise<URLSearchParams> {
  const url = await openId.buildAuthorizationUrl(REQUEST);
  return provider.authorize(new URL(url)).searchParams;
}

const discoveries = () => provider.requests.filter((path) => path.includes("well-known")).length;

describe("an OpenID provider", () => {
  test("is known by its issuer and subject; a claim is user info's, else the ID token's", async () => {
    provider.account = { sub: "jane", a: "user info", b: null };
    provider.attack = { claims: (claims) => ({ ...claims, a: "token", b: "token", c: "token" }) };
    const openId = open();
    const identity = await openId.redeem(REQUEST, await authorize(openId), PEER);
    expect([identity.issuer, identity.subject]).toEqual([provider.issuer, "jane"]);
    expect(["a", "b", "c", "d", "constructor", "__proto__"].map((name) => identity.claim(name))).toEqual([
      "user info",
      "token",
      "token",
      undefined,
      undefined,
      undefined,
    ]);
  });

  test("is asked for its metadata once, however many sign-ins begin at the same moment, and anew after an hour", async () => {
    const openId = open();
    await Promise.all(Array.from({ length: 50 }, () => openId.buildAuthorizationUrl(REQUEST)));
    expect(discoveries()).toBe(1);
    elapsedMs = DISCOVERY_AGE_MS_MAX - 1000;
    await openId.buildAuthorizationUrl(REQUEST);
    expect(discoveries()).toBe(1);
    elapsedMs = DISCOVERY_AGE_MS_MAX + 1000;
    await openId.buildAuthorizationUrl(REQUEST);
    expect(discoveries()).toBe(2);
  });

  test("whose keys have changed is believed again at the second sign-in after it", async () => {
    const openId = open();
    provider.attack = { jwks: () => ({ keys: [] }) };
    const first = await authorize(openId);
    expect(await refusalOf(() => openId.redeem(REQUEST, first, PEER))).toBe("sso_exchange_failed");
    provider.attack = {};
    const second = await authorize(openId);
    expect((await openId.redeem(REQUEST, second, PEER)).subject).toBe("jane");
  });

  test("gets so many exchanges at once, fewer of one network, and whoever has to wait is served after them", async () => {
    const openId = open();
    const callback = await authorize(openId);
    const { promise: gate, resolve: openGate } = Promise.withResolvers<void>();
    const { promise: full, resolve: tellFull } = Promise.withResolvers<void>();
    let running = 0;
    provider.attack = {
      token: async (answer) => {
        running += 1;
        if (running === EXCHANGES_MAX) tellFull();
        await gate;
        return Response.json(answer);
      },
    };
    const strangers = Array.from({ length: EXCHANGES_OF_PEER_MAX + WAITING_OF_PEER_MAX }, () =>
      openId.redeem(REQUEST, callback, toPeer("192.0.2.66")),
    );
    // One more than may wait: the one of them that has waited longest makes place.
    const late = openId.redeem(REQUEST, callback, toPeer("192.0.2.66"));
    const [oldest] = strangers.splice(EXCHANGES_OF_PEER_MAX, 1);
    expect(await refusalOf(() => oldest)).toBe("sso_exchange_failed");
    // The strangers' own line does not delay anybody else.
    const others = Array.from({ length: EXCHANGES_MAX - EXCHANGES_OF_PEER_MAX + 1 }, (_, index) =>
      openId.redeem(REQUEST, callback, toPeer(`192.0.2.${index}`)),
    );
    await full;
    openGate();
    const done = await Promise.all([...strangers, late, ...others]);
    expect(new Set(done.map(({ subject }) => subject))).toEqual(new Set(["jane"]));
  });

  test("that is not there is told by code alone in the log, and without its address", async () => {
    const openId = open();
    await provider.stop();
    expect(await refusalOf(() => openId.buildAuthorizationUrl(REQUEST))).toBe("sso_exchange_failed");
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      {
        ts: "",
        level: "warn",
        message: "single sign-on failed at the identity provider",
        step: "discovery",
        cause: expect.any(String),
        cause_code: "ECONNREFUSED",
      },
    ]);
  });

  test("that does not know our secret is told by the standard's word, which names what to correct", async () => {
    const openId = open();
    const callback = await authorize(openId);
    for (const [error, word] of [
      ["invalid_client", "invalid_client"],
      ["<script>", "other"],
    ]) {
      provider.attack = {
        token: () => Response.json({ error, error_description: "planted" }, { status: 401 }),
      };
      expect(await refusalOf(() => openId.redeem(REQUEST, callback, PEER))).toBe("sso_exchange_failed");
      expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ step: "exchange", provider_error: word });
    }
    expect(lines.join("")).not.toContain("planted");
  });

  test("gets our secret as its metadata asks, and in the head of the request when it says nothing", async () => {
    const secretPlaces = async (methods: unknown) => {
      let seen = "";
      const server = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        async fetch(request) {
          const body = new URLSearchParams(await request.text());
          seen = `${request.headers.get("authorization") ?? "-"} ${body.get("client_secret") ?? "-"}`;
          return Response.json({});
        },
      });
      provider.attack = {
        discovery: (document) => ({
          ...document,
          token_endpoint: `http://127.0.0.1:${server.port}/token`,
          ...(methods !== undefined && { token_endpoint_auth_methods_supported: methods }),
        }),
      };
      const openId = open();
      const callback = await authorize(openId);
      await refusalOf(() => openId.redeem(REQUEST, callback, PEER));
      await server.stop(true);
      return seen;
    };
    const basic = `Basic ${btoa("lockport:s+e%3Ac%25ret")} -`;
    const post = "- s e:c%ret";
    expect(await secretPlaces(undefined)).toBe(basic);
    expect(await secretPlaces(["client_secret_post", "client_secret_basic"])).toBe(basic);
    expect(await secretPlaces(["private_key_jwt", "client_secret_post"])).toBe(post);
    expect(await secretPlaces("client_secret_post")).toBe(basic);
  });
});
