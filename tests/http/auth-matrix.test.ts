import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Route } from "#http/door/route.ts";
import { createRelayAuthenticator, type RelayAuthenticator } from "#identity/relay-caller.ts";
import {
  createCaller,
  expectError,
  openSession,
  sendRaw,
  startHarness,
  toResponse,
  type Harness,
} from "./support.ts";

/**
 * Every route that is served × every credential (reliability: the auth matrix). What each cell has to be is told here by
 * path, from the specification, and not by what the routes declare. Requests name nothing that exists, and their bodies
 * are no objects, so that whoever is let in changes nothing.
 */

const FOREIGN = "http://evil.example";
const UNKNOWN_KEY = `lp_${"a".repeat(43)}`;
const UNKNOWN_TOKEN = `lpt_${"a".repeat(43)}`;
const NOTHING = "nothing";

/** A refusal's code, or what a route says to whoever is let in. */
type Expected = { readonly status: number; readonly code: string | null };

const STATUS: { readonly [code: string]: number } = {
  missing_api_key: 401,
  invalid_api_key: 401,
  admin_required: 403,
  cross_origin_rejected: 403,
};
const refused = (code: string): Expected => ({ status: STATUS[code] ?? 404, code });

/** What a credential is worth, wherever it is shown (specification, section 5). */
type Worth = "missing_api_key" | "invalid_api_key" | "member" | "admin";

interface Credential {
  readonly name: string;
  readonly headers: Record<string, string>;
  readonly worth: Worth;
  /** A browser's page of another origin sends it: with a session it may only read. */
  readonly foreign: "by session" | "by key" | null;
}

let harness: Harness;
let relayAuthenticator: RelayAuthenticator;
let credentials: readonly Credential[];
let goodToken: string;
/** In the relay's path, by what they are. */
let badTokens: ReadonlyMap<string, string>;

beforeEach(async () => {
  harness = await startHarness({
    relay: {
      relay: { send: async () => ({ kind: "responded", response: new Response("relayed") }) },
      // The store is the harness's own, which does not exist yet.
      authenticator: { authenticate: (token) => relayAuthenticator.authenticate(token) },
    },
  });
  const { identity, keyUse, keys, principals, relayTokens } = harness.deps;
  relayAuthenticator = createRelayAuthenticator({ store: identity, keyUse, secrets: harness.secrets });

  const member = await createCaller(harness, "member");
  const admin = await createCaller(harness, "second-admin", "admin");
  const deleted = await createCaller(harness, "deleted-key", "admin");
  await keys.delete({ id: deleted.keyId }, null);
  const service = await principals.create({ name: "service", kind: "service" }, null);
  const serviceKey = (await keys.create({ principalId: service.id }, null)).plaintext;
  const tokenOf = async (principalId: string) => await relayTokens.create({ principalId }, null);
  goodToken = (await tokenOf(admin.principal.id)).plaintext;
  const deletedToken = await tokenOf(admin.principal.id);
  await relayTokens.delete({ id: deletedToken.secret.id }, null);

  /** An admin with a key, a session and a token, to whom something happens afterwards. */
  const createDoomed = async (name: string) => {
    const { principal, key } = await createCaller(harness, name, "admin");
    const token = (await tokenOf(principal.id)).plaintext;
    return { id: principal.id, key, token, session: await openSession(harness, principal) };
  };
  const gone = await createDoomed("gone");
  await principals.delete(gone.id, null);
  const disabled = await createDoomed("disabled");
  await principals.update(disabled.id, { enabled: false }, null);
  const demoted = await createDoomed("demoted");
  await principals.update(demoted.id, { role: "member" }, null);
  const revoked = await createDoomed("revoked");
  await principals.revokeSessions(revoked.id, null);

  const adminSession = await openSession(harness, admin.principal);
  const memberSession = await openSession(harness, member.principal);
  const expiredSession = await openSession(harness, admin.principal, 0);
  badTokens = new Map([
    ["an unknown token", UNKNOWN_TOKEN],
    ["a malformed token", "token"],
    ["a deleted token", deletedToken.plaintext],
    ["the token of a deleted principal", gone.token],
    ["the token of a disabled principal", disabled.token],
    ["an admin's API key", admin.key],
    ["a member's API key", member.key],
  ]);

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
  const apiKey = (key: string) => ({ "x-api-key": key });
  const session = (cookie: string, more: Record<string, string> = {}) => ({ cookie, ...more });
  const rows: readonly [
    name: string,
    worth: Worth,
    headers: Record<string, string>,
    foreign?: "by session" | "by key",
  ][] = [
    ["nothing", "missing_api_key", {}],
    ["nothing from a foreign origin", "missing_api_key", { origin: FOREIGN }, "by key"],
    ["another scheme", "missing_api_key", { authorization: "Basic YTpi" }],
    ["Bearer with nothing after it", "missing_api_key", { authorization: "Bearer" }],
    ["an admin's key without a scheme", "missing_api_key", { authorization: admin.key }],
    ["a malformed key", "invalid_api_key", bearer("sk-123")],
    ["an unknown key", "invalid_api_key", bearer(UNKNOWN_KEY)],
    ["a deleted key", "invalid_api_key", bearer(deleted.key)],
    ["a deleted key in x-api-key", "invalid_api_key", apiKey(deleted.key)],
    ["the key of a deleted principal", "invalid_api_key", bearer(gone.key)],
    ["the key of a disabled principal", "invalid_api_key", bearer(disabled.key)],
    ["a relay token", "invalid_api_key", bearer(goodToken)],
    ["a relay token in x-api-key", "invalid_api_key", apiKey(goodToken)],
    ["a relay token in the session's cookie", "missing_api_key", session(`proxy_session=${goodToken}`)],
    ["an admin's key in the session's cookie", "missing_api_key", session(`proxy_session=${admin.key}`)],
    ["a member's key", "member", bearer(member.key)],
    ["a service's key", "member", bearer(serviceKey)],
    ["the key of an admin who is a member now", "member", bearer(demoted.key)],
    ["a member's key in x-api-key", "member", apiKey(member.key)],
    ["an admin's key", "admin", bearer(admin.key)],
    ["an admin's key under a lower-case scheme", "admin", { authorization: `bearer ${admin.key}` }],
    ["an admin's key in x-api-key", "admin", apiKey(admin.key)],
    ["the key of an admin whose sessions were revoked", "admin", bearer(revoked.key)],
    [
      "a bad bearer beside a good x-api-key",
      "invalid_api_key",
      { ...bearer(UNKNOWN_KEY), ...apiKey(admin.key) },
    ],
    ["an empty bearer beside a good x-api-key", "admin", { authorization: "Bearer ", ...apiKey(admin.key) }],
    [
      "another scheme beside a good x-api-key",
      "admin",
      { authorization: "Basic YTpi", ...apiKey(admin.key) },
    ],
    [
      "a member's bearer beside an admin's x-api-key",
      "member",
      { ...bearer(member.key), ...apiKey(admin.key) },
    ],
    [
      "two bearers in one header",
      "invalid_api_key",
      { authorization: `Bearer ${admin.key}, Bearer ${admin.key}` },
    ],
    ["a bad key beside a good session", "invalid_api_key", session(adminSession, bearer(UNKNOWN_KEY))],
    ["a member's key beside an admin's session", "member", session(adminSession, bearer(member.key))],
    ["an admin's key from a foreign origin", "admin", { ...bearer(admin.key), origin: FOREIGN }, "by key"],
    [
      "an admin's key beside a session from a foreign origin",
      "admin",
      session(adminSession, { ...bearer(admin.key), origin: FOREIGN }),
      "by key",
    ],
    ["an admin's session", "admin", session(adminSession)],
    ["an admin's session from its own origin", "admin", session(adminSession, { origin: harness.url })],
    [
      "an admin's session of the same site",
      "admin",
      session(adminSession, { "sec-fetch-site": "same-origin" }),
    ],
    [
      "an admin's session from a foreign origin",
      "admin",
      session(adminSession, { origin: FOREIGN }),
      "by session",
    ],
    [
      "an admin's session from a null origin",
      "admin",
      session(adminSession, { origin: "null" }),
      "by session",
    ],
    [
      "an admin's session from another site",
      "admin",
      session(adminSession, { "sec-fetch-site": "cross-site" }),
      "by session",
    ],
    ["a member's session", "member", session(memberSession)],
    [
      "a member's session from a foreign origin",
      "member",
      session(memberSession, { origin: FOREIGN }),
      "by session",
    ],
    ["the session of an admin who is a member now", "member", session(demoted.session)],
    ["an expired session", "missing_api_key", session(expiredSession)],
    ["a revoked session", "missing_api_key", session(revoked.session)],
    ["a tampered session", "missing_api_key", session(`${adminSession}x`)],
    [
      "a member's session whose role was rewritten",
      "missing_api_key",
      session(memberSession.replace(".member.", ".admin.")),
    ],
    ["two sessions", "missing_api_key", session(`${adminSession}; ${adminSession}`)],
    ["the session of a deleted principal", "missing_api_key", session(gone.session)],
    ["the session of a disabled principal", "missing_api_key", session(disabled.session)],
  ];
  credentials = rows.map(([name, worth, headers, foreign = null]) => ({ name, worth, headers, foreign }));
});
afterEach(() => harness.stop());

/** Who may call a path, by the specification's sections 4 and 5. */
function audienceOf(path: string): "public" | "caller" | "admin" | "relay" {
  if (path.startsWith("/admin/v1/") || path.startsWith("/model/")) return "admin";
  if (path.startsWith("/my/") || path.startsWith("/stats/")) return "caller";
  if (/^(\/v1)?\/(chat\/completions|completions|embeddings)$/.test(path)) return "caller";
  if (path.startsWith("/transparent/messages/")) return "relay";
  if (path.startsWith("/auth/") || /^(\/v1)?\/models$/.test(path)) return "public";
  if (["/healthz", "/metrics", "/openapi.json", "/*"].includes(path)) return "public";
  throw new Error(`no rule says who may call ${path}`);
}

/** What a route answers to whoever is let in, of things that do not exist or of a body that is no object. */
function answerOf({ method, path }: Route): Expected {
  if (path === "/auth/login" || path === "/auth/callback") return { status: 404, code: "sso_not_configured" };
  if (path === "/auth/logout") return { status: 303, code: null };
  if (/^(\/v1)?\/(chat\/completions|completions|embeddings)$/.test(path)) return { status: 200, code: null };
  if (path.startsWith("/transparent/")) return { status: 200, code: null };
  if (method === "POST" || method === "PATCH") return { status: 400, code: "invalid_request" };
  if (path === "/admin/v1/resolve") return { status: 400, code: "model_required" };
  if (!path.includes(":")) return { status: 200, code: null };
  const [, kind = ""] = /\/(provider|model|principal|key|relay-token)s\/:/.exec(path) ?? [];
  return { status: 404, code: `${kind.replace("-", "_")}_not_found` };
}

function expectedOf(route: Route, { worth, foreign }: Credential): Expected {
  const answer = answerOf(route);
  const audience = audienceOf(route.path);
  // Section 5, point 8, and 4.5: only the token in the path counts there.
  if (audience === "relay") return answer;
  if (audience === "public") {
    // Of all that is public only the sign-in asks where it comes from, whatever comes with it.
    return route.method === "POST" && foreign !== null ? refused("cross_origin_rejected") : answer;
  }
  if (worth === "missing_api_key" || worth === "invalid_api_key") return refused(worth);
  if (audience === "admin" && worth === "member") return refused("admin_required");
  if (foreign === "by session" && route.method !== "GET") return refused("cross_origin_rejected");
  return answer;
}

function toPath({ path }: Route, token = goodToken): string {
  return path
    .replace(":token", token)
    .replaceAll(/:[a-z]+/g, NOTHING)
    .replace("*", NOTHING);
}

function send(route: Route, headers: Record<string, string>, token?: string): Promise<Response> {
  const hasBody = route.method !== "GET" && route.method !== "HEAD";
  return fetch(harness.url + toPath(route, token), {
    method: route.method,
    redirect: "manual",
    headers: { "content-type": "application/json", ...headers },
    ...(hasBody && { body: "[]" }),
  });
}

async function expectCell(
  cell: string,
  response: Response,
  expected: Expected,
  isHead = false,
): Promise<void> {
  const text = await response.text();
  const code = isHead || response.status < 400 ? null : JSON.parse(text).error.code;
  expect({ cell, status: response.status, code }).toEqual({
    cell,
    ...expected,
    ...(isHead && { code: null }),
  });
  if (code === null) return;
  const { status, headers } = response;
  await expectError(new Response(text, { status, headers }), { status, code });
}

/** What ends a session comes last. */
const inOrder = (): readonly Route[] =>
  [...harness.routes].sort(
    (one, other) => Number(one.path === "/auth/logout") - Number(other.path === "/auth/logout"),
  );

describe("every route that is served", () => {
  test("answers every credential as the specification has it: status and code of each cell", async () => {
    let cells = 0;
    for (const route of inOrder()) {
      for (const credential of credentials) {
        const cell = `${route.method} ${route.path} with ${credential.name}`;
        const response = await send(route, credential.headers);
        await expectCell(cell, response, expectedOf(route, credential), route.method === "HEAD");
        cells += 1;
      }
    }
    expect(cells).toBe(harness.routes.length * credentials.length);
    expect(cells).toBeGreaterThan(2000);
  });

  test("takes two Authorization headers, each good, for no key", async () => {
    const key = harness.adminKey;
    for (const route of harness.routes.filter(({ path }) => ["caller", "admin"].includes(audienceOf(path)))) {
      const head = [
        `${route.method} ${toPath(route)} HTTP/1.1`,
        `Host: 127.0.0.1:${harness.port}`,
        `Authorization: Bearer ${key}`,
        `Authorization: Bearer ${key}`,
        "Connection: close",
      ];
      const raw = await sendRaw(harness.port, `${head.join("\r\n")}\r\n\r\n`);
      await expectCell(`${route.method} ${route.path}`, toResponse(raw), refused("invalid_api_key"));
    }
  });

  test("declares the access that the specification gives it", () => {
    for (const { path, access } of harness.routes) {
      expect({ path, access }).toEqual({ path, access: audienceOf(path) });
    }
  });
});

describe("the relay's path", () => {
  test("takes no token but a relay token that lives, whatever good credential comes beside it", async () => {
    const admin = { authorization: `Bearer ${harness.adminKey}` };
    for (const route of harness.routes.filter(({ access }) => access === "relay")) {
      for (const [name, token] of badTokens) {
        for (const headers of [{}, admin]) {
          const cell = `${route.method} with ${name}`;
          const response = await send(route, headers, token);
          await expectCell(cell, response, refused("unknown_relay_token"), route.method === "HEAD");
        }
      }
    }
  });
});
