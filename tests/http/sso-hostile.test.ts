import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { createUsedStates } from "#identity/sso-state.ts";
import { createOpenIdProvider } from "#identity/oidc.ts";
import { createSingleSignOn, type SingleSignOn } from "#identity/sso.ts";
import { createSignInLog } from "#identity/sign-in-log.ts";
import { createSystemIds } from "#kernel/ids.ts";
import { createBrowser, type Browser, type Visit } from "../support/browser.ts";
import {
  hang,
  honestPublicPem,
  otherKey,
  PLANTED,
  signJws,
  startHostileProvider,
  toPublicJwk,
  type Attack,
  type HostileProvider,
} from "../support/hostile-provider.ts";
import { startHarness, type Harness } from "./support.ts";

const CLIENT_ID = "lockport";
const CLIENT_SECRET = "client-secret-of-ours";
/** Whoever else could be told. */
const SECRETS = [PLANTED, CLIENT_SECRET, "at-secret", "code-secret", "eyJ"];
const STAFF = "staff";

interface Rig {
  readonly harness: Harness;
  readonly provider: HostileProvider;
  sessionsMade(): number;
  /** As after a restart: nothing of the provider is remembered. */
  forget(): void;
  stop(): Promise<void>;
}

/** The interface over a socket, behind it single sign-on with a provider that will do anything. */
async function startRig(requestMsMax: number): Promise<Rig> {
  const provider = startHostileProvider(CLIENT_ID);
  let sso: SingleSignOn | null = null;
  const requireSso = () => (sso ??= open());
  const harness = await startHarness({
    sso: {
      begin: (options) => requireSso().begin(options),
      finish: (callback) => requireSso().finish(callback),
    },
  });
  const { clock, log, identity } = harness.deps;
  let sessionsMade = 0;
  const open = () =>
    createSingleSignOn({
      usedStates: createUsedStates(clock),
      provider: createOpenIdProvider({
        issuer: provider.issuer,
        clientId: CLIENT_ID,
        clientSecret: CLIENT_SECRET,
        scopes: "openid profile",
        clock,
        log,
        requestMsMax,
      }),
      store: {
        ...identity,
        createSession: (session, nowUs) => {
          sessionsMade += 1;
          return identity.createSession(session, nowUs);
        },
      },
      secrets: harness.secrets,
      clock,
      ids: createSystemIds(),
      log,
      signIns: createSignInLog(log, clock),
      sessionTtlSeconds: 3600,
      redirectUri: () => `${harness.url}/auth/callback`,
      requiredGroup: STAFF,
      adminGroup: "admins",
      groupsClaim: "groups",
    });
  return {
    harness,
    provider,
    sessionsMade: () => sessionsMade,
    forget: () => {
      sso = null;
    },
    async stop() {
      await provider.stop();
      await harness.stop();
    },
  };
}

/** To the provider and back; the answer of whichever of our two routes ended it. */
async function signIn({ harness, provider }: Rig, browser: Browser, attack: Attack): Promise<Visit> {
  const headers = { accept: "application/json" };
  provider.attack = attack;
  const login = await browser.visit(`${harness.url}/auth/login`, { headers });
  if (login.response.status !== 302) return login;
  return await browser.visit(provider.authorize(login.location ?? expect.unreachable()), { headers });
}

async function countPrincipals({ harness }: Rig): Promise<number> {
  return await harness.deps.identity.countPrincipals();
}

/** Refused with this code; nobody is signed in, nothing is made, nothing is repeated; then an honest sign-in works. */
async function expectRefused(rig: Rig, attack: Attack, code: string): Promise<void> {
  const { harness, provider } = rig;
  const browser = createBrowser();
  const before = { sessions: rig.sessionsMade(), principals: await countPrincipals(rig) };
  const logBegin = harness.logLines.length;
  rig.forget();
  provider.account = { sub: "mallory", preferred_username: PLANTED, groups: [STAFF] };
  const refused = await signIn(rig, browser, attack);
  expect(refused.text).toContain(`"${code}"`);
  const status = { sso_group_required: 403, sso_state_mismatch: 400, sso_denied: 400 }[code] ?? 502;
  expect(refused.response.status).toBe(status);
  expect(browser.findCookie(harness.url, "proxy_session")).toBeNull();
  expect(browser.findCookie(`${harness.url}/auth/callback`, "proxy_sso_state")).toBeNull();
  expect({ sessions: rig.sessionsMade(), principals: await countPrincipals(rig) }).toEqual(before);
  const told = [refused.text, ...harness.logLines.slice(logBegin)].join("\n");
  expect(SECRETS.filter((secret) => told.includes(secret))).toEqual([]);
  expect(provider.strays).toEqual([]);

  provider.account = { sub: "jane", preferred_username: "jane", groups: [STAFF] };
  const honest = await signIn(rig, browser, {});
  expect([honest.response.status, honest.location?.pathname]).toEqual([303, "/"]);
}

const nowSeconds = () => Math.floor(Date.now() / 1000);
const redirectTo = (path: string) => (): Response =>
  new Response(null, { status: 307, headers: { location: path } });
const failing = (status: number) => (): Response =>
  Response.json({ error: "invalid_client", error_description: `${PLANTED} ${CLIENT_SECRET}` }, { status });
const html = () => `<html><script>${PLANTED}</script></html>`;
const asJwt = (jwt: string) => new Response(jwt, { headers: { "content-type": "application/jwt" } });

/** A name that says what the provider does, what it does, and what that is refused with. */
type Row = readonly [name: string, attack: Attack, code: string];

const ID_TOKENS: readonly Row[] = [
  ["alg none", { idToken: (c) => signJws(c, { alg: "none" }, null) }, "sso_exchange_failed"],
  [
    "alg none, and metadata that allows it",
    {
      discovery: (d) => ({ ...d, id_token_signing_alg_values_supported: ["none", "RS256"] }),
      idToken: (c) => signJws(c, { alg: "none" }, null),
    },
    "sso_exchange_failed",
  ],
  [
    "HS256 with the public key as its secret",
    { idToken: (c, h) => signJws(c, { ...h, alg: "HS256" }, honestPublicPem()) },
    "sso_exchange_failed",
  ],
  [
    "HS256 with the client secret, and metadata that allows it",
    {
      discovery: (d) => ({ ...d, id_token_signing_alg_values_supported: ["HS256"] }),
      idToken: (c) => signJws(c, { alg: "HS256" }, CLIENT_SECRET),
    },
    "sso_exchange_failed",
  ],
  [
    "another key under the known kid",
    { idToken: (c, h) => signJws(c, h, otherKey.privateKey) },
    "sso_exchange_failed",
  ],
  ["an unknown kid", { idToken: (c, h) => signJws(c, { ...h, kid: "other" }) }, "sso_exchange_failed"],
  [
    "a key that the token itself brings",
    {
      idToken: (c, h) => {
        const jwk = toPublicJwk(otherKey.publicKey);
        return signJws(c, { ...h, jwk, jku: "/stray" }, otherKey.privateKey);
      },
    },
    "sso_exchange_failed",
  ],
  [
    "a critical header",
    { idToken: (c, h) => signJws(c, { ...h, crit: ["x"], x: 1 }) },
    "sso_exchange_failed",
  ],
  [
    "claims changed after signing",
    {
      idToken: (c, h) => {
        const [head, , signature] = signJws(c, h).split(".");
        const changed = Buffer.from(JSON.stringify({ ...c, sub: "admin" })).toString("base64url");
        return `${head}.${changed}.${signature}`;
      },
    },
    "sso_exchange_failed",
  ],
  ["an empty signature", { idToken: (c, h) => signJws(c, h, null) }, "sso_exchange_failed"],
  ["five parts", { idToken: () => "eyJ.a.b.c.d" }, "sso_exchange_failed"],
  ["no token at all", { token: without("id_token") }, "sso_exchange_failed"],
  ["a number for a token", { token: (answer) => ({ ...answer, id_token: 5 }) }, "sso_exchange_failed"],
  ["another audience", { claims: (c) => ({ ...c, aud: "another-client" }) }, "sso_exchange_failed"],
  ["an audience without us", { claims: (c) => ({ ...c, aud: ["a", "b"] }) }, "sso_exchange_failed"],
  ["an audience beside us", { claims: (c) => ({ ...c, aud: [CLIENT_ID, "b"] }) }, "sso_exchange_failed"],
  [
    "a token made for another party",
    { claims: (c) => ({ ...c, aud: [CLIENT_ID, "b"], azp: "b" }) },
    "sso_exchange_failed",
  ],
  ["no audience", { claims: without("aud") }, "sso_exchange_failed"],
  ["another issuer", { claims: (c) => ({ ...c, iss: "https://id.example.org" }) }, "sso_exchange_failed"],
  [
    "an issuer with a slash more",
    { claims: (c) => ({ ...c, iss: `${JSON.stringify(c["iss"]).slice(1, -1)}/` }) },
    "sso_exchange_failed",
  ],
  ["another nonce", { claims: (c) => ({ ...c, nonce: "other" }) }, "sso_exchange_failed"],
  ["no nonce", { claims: without("nonce") }, "sso_exchange_failed"],
  ["expired", { claims: (c) => ({ ...c, exp: nowSeconds() - 120 }) }, "sso_exchange_failed"],
  ["no expiry", { claims: without("exp") }, "sso_exchange_failed"],
  ["an expiry that is text", { claims: (c) => ({ ...c, exp: "9999999999" }) }, "sso_exchange_failed"],
  ["not valid yet", { claims: (c) => ({ ...c, nbf: nowSeconds() + 3600 }) }, "sso_exchange_failed"],
  ["issued in the future", { claims: (c) => ({ ...c, iat: nowSeconds() + 3600 }) }, "sso_exchange_failed"],
  ["no subject", { claims: without("sub") }, "sso_exchange_failed"],
  ["an empty subject", { claims: (c) => ({ ...c, sub: "" }) }, "sso_exchange_failed"],
  ["a subject that is a number", { claims: (c) => ({ ...c, sub: 5 }) }, "sso_exchange_failed"],
  [
    "a subject of 256 characters",
    {
      claims: (c) => ({ ...c, sub: "s".repeat(256) }),
      userInfo: (account) => ({ ...account, sub: "s".repeat(256) }),
    },
    "sso_exchange_failed",
  ],
  ["claims of 2 MB", { claims: (c) => ({ ...c, more: PLANTED.repeat(90_000) }) }, "sso_exchange_failed"],
];

const ENDPOINTS: readonly Row[] = [
  [
    "metadata of another issuer",
    { discovery: (d) => ({ ...d, issuer: "https://id.example.org" }) },
    "sso_exchange_failed",
  ],
  ["metadata that is a page", { discovery: html }, "sso_exchange_failed"],
  ["metadata without a token endpoint", { discovery: without("token_endpoint") }, "sso_exchange_failed"],
  [
    "a token endpoint in the clear on another machine",
    { discovery: (d) => ({ ...d, token_endpoint: "http://192.0.2.1/token" }) },
    "sso_exchange_failed",
  ],
  [
    "a token endpoint that is a file",
    { discovery: (d) => ({ ...d, token_endpoint: "file:///etc/passwd" }) },
    "sso_exchange_failed",
  ],
  [
    "an authorization endpoint that is a script",
    { discovery: (d) => ({ ...d, authorization_endpoint: `javascript:alert("${PLANTED}")` }) },
    "sso_exchange_failed",
  ],
  [
    "an authorization endpoint in the clear on another machine",
    { discovery: (d) => ({ ...d, authorization_endpoint: "http://192.0.2.1/authorize" }) },
    "sso_exchange_failed",
  ],
  ["metadata elsewhere", { discovery: redirectTo("/stray") }, "sso_exchange_failed"],
  ["metadata that fails", { discovery: failing(500) }, "sso_exchange_failed"],
  [
    "the issuer of somebody else beside the code",
    { callback: withQuery("iss", "https://id.example.org") },
    "sso_exchange_failed",
  ],
  [
    "no issuer beside the code though one is announced",
    { discovery: (d) => ({ ...d, authorization_response_iss_parameter_supported: true }) },
    "sso_exchange_failed",
  ],
  ["two codes", { callback: alsoQuery("code", "another") }, "sso_exchange_failed"],
  ["an ID token beside the code", { callback: withQuery("id_token", "eyJ") }, "sso_exchange_failed"],
  ["a token endpoint that redirects", { token: redirectTo("/stray") }, "sso_exchange_failed"],
  ["a token endpoint with a page", { token: html }, "sso_exchange_failed"],
  ["a token endpoint that repeats our secret", { token: failing(400) }, "sso_exchange_failed"],
  ["a token endpoint that repeats our secret and fails", { token: failing(500) }, "sso_exchange_failed"],
  [
    "a token endpoint without content",
    { token: () => new Response(null, { status: 204 }) },
    "sso_exchange_failed",
  ],
  [
    "a token of another type",
    { token: (answer) => ({ ...answer, token_type: "mac" }) },
    "sso_exchange_failed",
  ],
  [
    "an access token that is an object",
    { token: (answer) => ({ ...answer, access_token: {} }) },
    "sso_exchange_failed",
  ],
  ["keys that fail", { jwks: failing(500) }, "sso_exchange_failed"],
  ["keys elsewhere", { jwks: redirectTo("/stray") }, "sso_exchange_failed"],
  ["keys that are a page", { jwks: html }, "sso_exchange_failed"],
  ["keys that are no list", { jwks: () => ({ keys: { [PLANTED]: 1 } }) }, "sso_exchange_failed"],
  ["two keys for one kid", { jwks: ({ keys }) => ({ keys: [keys, keys].flat() }) }, "sso_exchange_failed"],
  ["a key of a megabit", { jwks: () => ({ keys: [toHugeKey(131_072)] }) }, "sso_exchange_failed"],
  ["a short key", { jwks: () => ({ keys: [toHugeKey(64)] }) }, "sso_exchange_failed"],
  ["keys without end", { jwks: () => endless() }, "sso_exchange_failed"],
  ["user info of another subject", { userInfo: (a) => ({ ...a, sub: "admin" }) }, "sso_userinfo_failed"],
  ["user info without a subject", { userInfo: without("sub") }, "sso_userinfo_failed"],
  ["user info with an empty subject", { userInfo: (a) => ({ ...a, sub: "" }) }, "sso_userinfo_failed"],
  ["user info that is a list", { userInfo: (a) => Response.json([a]) }, "sso_userinfo_failed"],
  ["user info that is a page", { userInfo: html }, "sso_userinfo_failed"],
  ["user info that redirects", { userInfo: redirectTo("/stray") }, "sso_userinfo_failed"],
  ["user info that fails", { userInfo: failing(401) }, "sso_userinfo_failed"],
  ["no user info endpoint", { discovery: without("userinfo_endpoint") }, "sso_userinfo_failed"],
  ["user info without end", { userInfo: () => endless() }, "sso_userinfo_failed"],
  [
    "user info that is compressed though nobody asked for it",
    {
      userInfo: (account) =>
        new Response(gzipSync(JSON.stringify(account)), {
          headers: { "content-type": "application/json", "content-encoding": "gzip" },
        }),
    },
    "sso_userinfo_failed",
  ],
  [
    "user info that is compressed to nearly nothing",
    {
      userInfo: () =>
        new Response(gzipSync(Buffer.alloc(64 * 1024 * 1024)), {
          headers: { "content-type": "application/json", "content-encoding": "gzip" },
        }),
    },
    "sso_userinfo_failed",
  ],
  [
    "user info signed with another key",
    {
      discovery: (d) => ({ ...d, userinfo_signing_alg_values_supported: ["RS256"] }),
      userInfo: (a) => asJwt(signJws(a, { alg: "RS256", kid: "honest" }, otherKey.privateKey)),
    },
    "sso_userinfo_failed",
  ],
  [
    "user info signed for another client",
    {
      discovery: (d) => ({ ...d, userinfo_signing_alg_values_supported: ["RS256"] }),
      userInfo: (a) => asJwt(signJws({ ...a, aud: "other" }, { alg: "RS256", kid: "honest" })),
    },
    "sso_userinfo_failed",
  ],
  [
    "user info not signed though it says so",
    { userInfo: (a) => asJwt(signJws(a, { alg: "none" }, null)) },
    "sso_userinfo_failed",
  ],
];

/** Nobody is in the group for being in one that contains its name, or for a claim of another shape. */
const GROUPS: readonly Row[] = [
  ["no groups", undefined],
  ["null", null],
  ["an object", { staff: true, 0: "staff", length: 1 }],
  ["a number", 5],
  ["true", true],
  ["an element that is a list in a text", ["staff,other"]],
  ["an element with a space", ["staff other"]],
  ["a list in the list", [["staff"]]],
  ["an object in the list", [{ toString: "staff" }]],
  ["another case", ["Staff"]],
  ["part of a name", "stafford no-staff"],
  ["white space around", [" staff", "staff\n"]],
  ["the admin group alone", ["admins"]],
].map(([name, groups]): Row => [
  `groups: ${JSON.stringify(name)}`,
  { userInfo: (account) => ({ ...account, groups }) },
  "sso_group_required",
]);

describe("a provider that is hostile", () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(5000);
  });
  afterAll(() => rig.stop());

  describe("in the ID token", () => {
    test.each(ID_TOKENS)("is refused, and nobody is signed in: %s", (_, attack, code) =>
      expectRefused(rig, attack, code),
    );
  });
  describe("at its endpoints", () => {
    test.each(ENDPOINTS)("is refused, and nobody is signed in: %s", (_, attack, code) =>
      expectRefused(rig, attack, code),
    );
  });
  describe("in its claims", () => {
    test.each(GROUPS)("passes nobody through the gate: %s", (_, attack, code) =>
      expectRefused(rig, attack, code),
    );
  });

  test("a code that it would take twice is not redeemed twice, not even with a copy of the cookie", async () => {
    const { harness, provider } = rig;
    const browser = createBrowser();
    provider.attack = {};
    const login = await browser.visit(`${harness.url}/auth/login`);
    const cookie = browser.findCookie(`${harness.url}/auth/callback`, "proxy_sso_state") ?? "";
    const back = provider.authorize(login.location ?? expect.unreachable());
    expect((await browser.visit(back)).location?.pathname).toBe("/");
    const sessions = rig.sessionsMade();
    const tokens = provider.requests.filter((path) => path === "/token").length;
    const thief = createBrowser();
    thief.setCookie(harness.url, "proxy_sso_state", cookie);
    for (const visitor of [browser, thief]) {
      const replayed = await visitor.visit(back);
      expect(replayed.location?.href).toBe(`${harness.url}/auth/login?retry=1`);
    }
    expect(rig.sessionsMade()).toBe(sessions);
    expect(provider.requests.filter((path) => path === "/token")).toHaveLength(tokens);
  });

  test("an answer of 100 MB is not read further than its limit", async () => {
    let sentBytes = 0;
    const chunk = new Uint8Array(1024 * 1024).fill(0x20);
    const userInfo = () =>
      new Response(
        new ReadableStream({
          pull(controller) {
            sentBytes += chunk.byteLength;
            if (sentBytes > 100 * chunk.byteLength) controller.close();
            else controller.enqueue(chunk);
          },
        }),
        { headers: { "content-type": "application/json" } },
      );
    await expectRefused(rig, { userInfo }, "sso_userinfo_failed");
    expect(sentBytes).toBeLessThan(32 * 1024 * 1024);
  });
});

describe("a provider that hangs", () => {
  const steps: readonly Row[] = [
    ["at its metadata", { discovery: hang }, "sso_exchange_failed"],
    ["at its token endpoint", { token: hang }, "sso_exchange_failed"],
    ["at its keys", { jwks: hang }, "sso_exchange_failed"],
    ["at user info", { userInfo: hang }, "sso_userinfo_failed"],
    ["in the middle of user info", { userInfo: () => dripping() }, "sso_userinfo_failed"],
  ];
  test.concurrent.each(steps)(
    "is given up after the time limit, and delays nothing but its own sign-in: %s",
    async (_, attack, code) => {
      const rig = await startRig(600);
      rig.provider.account = { sub: "jane", groups: [STAFF] };
      try {
        const refused = signIn(rig, createBrowser(), attack);
        const health = await fetch(`${rig.harness.url}/healthz`);
        expect(health.status).toBe(200);
        expect((await refused).text).toContain(`"${code}"`);
        expect(rig.sessionsMade()).toBe(0);
      } finally {
        await rig.stop();
      }
    },
  );
});

function without(name: string) {
  return (honest: Readonly<Record<string, unknown>>) =>
    Object.fromEntries(Object.entries(honest).filter(([key]) => key !== name));
}

function withQuery(name: string, value: string) {
  return (url: URL) => {
    url.searchParams.set(name, value);
    return url;
  };
}

function alsoQuery(name: string, value: string) {
  return (url: URL) => {
    url.searchParams.append(name, value);
    return url;
  };
}

/** A public key of so many bytes that is nobody's. */
function toHugeKey(sizeBytes: number) {
  const n = Buffer.alloc(sizeBytes, 0xa5).toString("base64url");
  return { kty: "RSA", kid: "honest", alg: "RS256", use: "sig", e: "AQAB", n };
}

/** A body that goes on as long as somebody reads it. */
function endless(): Response {
  const chunk = new Uint8Array(256 * 1024).fill(0x20);
  return new Response(new ReadableStream({ pull: (controller) => controller.enqueue(chunk) }), {
    headers: { "content-type": "application/json" },
  });
}

/** A body that begins and does not end. */
function dripping(): Response {
  const head = new TextEncoder().encode("{");
  return new Response(new ReadableStream({ start: (controller) => controller.enqueue(head) }), {
    headers: { "content-type": "application/json" },
  });
}
