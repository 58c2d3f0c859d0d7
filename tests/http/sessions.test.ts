import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { signSession } from "#identity/sessions.ts";
import { createSecretBox, type SecretBox } from "#kernel/crypto.ts";
import { connect } from "./open-connection.ts";
import {
  call,
  createCaller,
  expectError,
  openSession,
  signIn,
  startHarness,
  type Harness,
} from "./support.ts";

let harness: Harness;
let runs: number;
beforeEach(async () => {
  harness = await startHarness({
    exchange: {
      run: async () => {
        runs += 1;
        return { kind: "responded", response: new Response("relayed") };
      },
    },
  });
});
beforeEach(() => {
  runs = 0;
});
afterEach(() => harness.stop());

const CHAT = ["POST", "/v1/chat/completions"] as const;

/** Each surface that a session is valid on; of these only the first three for a member. */
const SURFACES = [
  ["GET", "/my/keys"],
  ["GET", "/stats/summary"],
  CHAT,
  ["GET", "/admin/v1/principals"],
  ["GET", "/model/info"],
] as const;

describe("a session's cookie", () => {
  describe.each<[string, (id: string, cookie: string) => Promise<Response>]>([
    ["its own sign-out", (_, cookie) => call(harness, "GET", "/auth/logout", { headers: { cookie } })],
    ["a revocation", (id) => call(harness, "POST", `/admin/v1/principals/${id}/revoke-sessions`)],
    [
      "its principal being disabled",
      (id) => call(harness, "PATCH", `/admin/v1/principals/${id}`, { body: { enabled: false } }),
    ],
    ["its principal being deleted", (id) => call(harness, "DELETE", `/admin/v1/principals/${id}`)],
  ])("after %s", (what, end) => {
    test("is refused on the very next request of a connection that stays open, wherever it was copied to", async () => {
      const { principal } = await createCaller(harness, what.replaceAll(" ", "-"), "admin");
      const cookie = await openSession(harness, principal);
      using connection = await connect(harness.port);
      using copied = await connect(harness.port);
      for (const open of [connection, copied]) {
        expect((await open.send("GET", "/admin/v1/principals", { cookie })).status).toBe(200);
        expect((await open.send(...CHAT, { cookie })).status).toBe(200);
      }
      expect((await end(principal.id, cookie)).status).toBeLessThan(400);
      runs = 0;
      for (const open of [connection, copied]) {
        for (const [method, path] of SURFACES) {
          await expectError(await open.send(method, path, { cookie }), "401 missing_api_key");
        }
        const me = await (await open.send("GET", "/auth/me", { cookie })).json();
        expect(me).toEqual({ authenticated: false, sso_enabled: false, password_enabled: true });
      }
      expect(runs).toBe(0);
    });
  });

  test("that is not ours, changed or sent twice ends no session when it signs out", async () => {
    const cookie = await signIn(harness);
    for (const given of [`${cookie}x`, `${cookie}; ${cookie}`, "proxy_session=a.admin.b", "other=1"]) {
      const response = await call(harness, "GET", "/auth/logout", { headers: { cookie: given } });
      expect([response.status, response.headers.get("location")]).toEqual([303, "/"]);
    }
    expect((await call(harness, "GET", "/my/keys", { headers: { cookie } })).status).toBe(200);
  });

  test("signed by another installation is none, though its session's row were here", async () => {
    const { identity, clock } = harness.deps;
    const other = createSecretBox(new Uint8Array(32).fill(7));
    const token = "a".repeat(43);
    const issuedAtUs = clock.nowUs();
    await identity.createSession(
      {
        tokenHash: harness.secrets.hashToken(token),
        principalId: harness.adminId,
        cookieIssuedAtUs: issuedAtUs,
        expiresAtUs: issuedAtUs + 3_600_000_000,
      },
      issuedAtUs,
    );
    const statusOf = async (secrets: SecretBox) => {
      const value = signSession(secrets, { token, role: "admin", passwordPrint: null, issuedAtUs });
      const cookie = `proxy_session=${value}`;
      return (await call(harness, "GET", "/my/keys", { headers: { cookie } })).status;
    };
    expect(await statusOf(other)).toBe(401);
    expect(await statusOf(harness.secrets)).toBe(200);
  });
});

describe("a mutation by session", () => {
  const FOREIGN: readonly Record<string, string>[] = [
    { origin: "https://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ];

  test("from another origin is 403 cross_origin_rejected on /v1 and at the root too, and reaches no upstream", async () => {
    const cookie = await signIn(harness);
    for (const path of ["/v1/chat/completions", "/chat/completions", "/v1/completions", "/v1/embeddings"]) {
      for (const headers of FOREIGN) {
        const response = await call(harness, "POST", path, {
          body: { model: "m" },
          headers: { cookie, ...headers },
        });
        await expectError(response, "403 cross_origin_rejected", null);
      }
    }
    expect(runs).toBe(0);
    const own = { cookie, origin: harness.url, "sec-fetch-site": "same-origin" };
    expect((await call(harness, ...CHAT, { body: { model: "m" }, headers: own })).status).toBe(200);
    const byKey = { authorization: `Bearer ${harness.adminKey}`, ...FOREIGN[0] };
    expect((await call(harness, ...CHAT, { body: { model: "m" }, headers: byKey })).status).toBe(200);
    expect(runs).toBe(2);
  });

  test("from another origin changes nothing: no key, no token, no principal is made or deleted", async () => {
    const { principal, keyId } = await createCaller(harness, "kay", "admin");
    const cookie = await openSession(harness, principal);
    const { relayTokens, keys, principals } = harness.deps;
    const { secret: token } = await relayTokens.create({ principalId: principal.id }, null);
    const ALL = { limit: 500, offset: 0 };
    const counts = async () => [
      (await keys.list({}, ALL)).total,
      (await relayTokens.list({}, ALL)).total,
      (await principals.list(ALL)).total,
    ];
    const before = await counts();
    for (const [method, path, body] of [
      ["POST", "/my/keys", {}],
      ["POST", "/my/relay-tokens", {}],
      ["DELETE", `/my/keys/${keyId}`, undefined],
      ["DELETE", `/my/relay-tokens/${token.id}`, undefined],
      ["DELETE", `/admin/v1/relay-tokens/${token.id}`, undefined],
      ["POST", "/admin/v1/principals", { name: "mallory", role: "admin" }],
      ["PATCH", `/admin/v1/principals/${principal.id}`, { role: "member" }],
      ["DELETE", `/admin/v1/principals/${principal.id}`, undefined],
      ["POST", `/admin/v1/principals/${principal.id}/revoke-sessions`, undefined],
    ] as const) {
      for (const headers of FOREIGN) {
        const response = await call(harness, method, path, { body, headers: { cookie, ...headers } });
        await expectError(response, "403 cross_origin_rejected");
      }
    }
    expect(await counts()).toEqual(before);
    expect((await call(harness, "GET", "/admin/v1/principals", { headers: { cookie } })).status).toBe(200);
  });
});
