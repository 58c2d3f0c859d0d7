import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import { toErrorCodes, toTemplate } from "#http/openapi/document.ts";
import type { Route } from "#http/door/route.ts";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { ERROR_STATUS, type ErrorCode } from "#kernel/errors.ts";
import { startApp, type TestApp } from "../support/app.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  startIdentityProvider,
  type IdentityProvider,
} from "../support/identity-provider.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";
import { findFaults, openApi, ROUTES } from "./openapi-reader.ts";
import { nameOf, stepsOf, toForm } from "./openapi-replay.ts";
import { expectError, sendRaw, startHarness, toResponse, type Harness } from "./support.ts";

/** An endpoint whose path names a response. */
function isById({ path }: Pick<Route, "path">): boolean {
  return path.includes("/responses/:id");
}

interface SeenElsewhere {
  readonly of: (route: Route) => boolean;
  readonly code: ErrorCode;
  readonly file: string;
}

const isCatalog = ({ path }: Route) => path === "/admin/v1/catalog";

/** Codes that no plain request gets in a moment are seen by other tests, which name them. */
const SEEN_ELSEWHERE: readonly SeenElsewhere[] = [
  // A body that is passed on, and comes too slowly.
  {
    of: ({ upstreamErrorHeaders }) => upstreamErrorHeaders !== undefined,
    code: "invalid_request",
    file: "http/body.test.ts",
  },
  // More requests than are looked at one by one.
  {
    of: ({ path }) => !/series$|errors$/.test(path),
    code: "range_too_large",
    file: "ledger/request-log.test.ts",
  },
  {
    of: ({ upstreamErrorHeaders }) => upstreamErrorHeaders !== undefined,
    code: "limit_exceeded",
    file: "limits/refusal.test.ts",
  },
  // A response that was there before its provider was disabled, or gone.
  ...(["model_not_found", "provider_unreachable"] as const).map((code) => ({
    of: isById,
    code,
    file: "http/responses.test.ts",
  })),
  { of: ({ path }) => path === "/admin/v1/limits", code: "too_many_limits", file: "limits/many.test.ts" },
  ...(
    [
      "invalid_name",
      "limit_exists",
      "limit_not_found",
      "principal_not_found",
      "key_not_found",
      "relay_token_not_found",
    ] as const
  ).map((code) => ({
    of: ({ path }: Route) => path.startsWith("/admin/v1/limits"),
    code,
    file: "limits/api.test.ts",
  })),
  ...(
    [
      "invalid_label",
      "invalid_expiry",
      "invalid_models",
      "invalid_tags",
      "principal_not_found",
      "key_not_found",
      "principal_exists",
      "limit_exists",
      "last_admin",
    ] as const
  ).map((code) => ({ of: isCatalog, code, file: "http/people-file.test.ts" })),
  ...(
    [
      "invalid_date",
      "invalid_outcome",
      "invalid_request",
      "invalid_pricing",
      "invalid_price_variants",
      "repricing_not_found",
      "repricing_running",
      "repricing_outdated",
    ] as const
  ).map((code) => ({
    of: ({ path }: Route) => path.startsWith("/admin/v1/repricing"),
    code,
    file: "http/repricing.test.ts",
  })),
  {
    of: ({ method, path }) =>
      (method === "PATCH" && path === "/admin/v1/models/:alias") ||
      (method === "POST" && (path === "/admin/v1/pricing" || path === "/admin/v1/catalog")),
    code: "too_many_schedules",
    file: "catalog/price-schedule.test.ts",
  },
  {
    of: ({ path }) => path === "/admin/v1/repricing",
    code: "range_too_large",
    file: "stats/repricing.test.ts",
  },
  {
    of: ({ path }) => path === "/admin/v1/pricing/schedule/:id",
    code: "schedule_not_found",
    file: "http/price-schedule.test.ts",
  },
  { of: isCatalog, code: "too_many_keys", file: "people/people-plan.test.ts" },
  { of: isCatalog, code: "too_many_limits", file: "people/people-plan.test.ts" },
  // A model that was made unreadable by hand.
  {
    of: (route) => route.path === "/admin/v1/providers/:name" || isCatalog(route),
    code: "model_in_use",
    file: "http/unreadable-rows.test.ts",
  },
  { of: () => true, code: "reports_busy", file: "ledger/reader.test.ts" },
  { of: () => true, code: "changed_meanwhile", file: "http/if-match.test.ts" },
  { of: () => true, code: "busy", file: "http/body-memory.test.ts" },
  { of: () => true, code: "too_many_changes", file: "http/change-rate.test.ts" },
  { of: ({ path }) => path.endsWith("/keys"), code: "too_many_keys", file: "http/secrets.test.ts" },
  {
    of: ({ path }) => path === "/my/relay-tokens",
    code: "too_many_relay_tokens",
    file: "storage/contract-secrets.ts",
  },
  { of: ({ path }) => path === "/auth/callback", code: "sso_group_required", file: "http/sso.test.ts" },
  {
    of: ({ path }) => path === "/auth/callback",
    code: "sso_userinfo_failed",
    file: "http/sso-hostile.test.ts",
  },
];

const BODY_BYTES_MAX = 64 * 1024;
const NOBODY = "019cdd2a-7c00-7000-8000-00000000dead";
const JSON_TYPE = "application/json";

interface Sent {
  /** With its query; else the route's own, of things that do not exist. */
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  /** Whose server; the one with everything on by default. */
  readonly to?: { readonly url: string };
}

let upstream: ScriptedUpstream;
let provider: IdentityProvider;
let app: TestApp;
/** Password, single sign-on and relay are off. */
let off: Harness;
/** Nothing behind the interface works. */
let broken: Harness;
let memberKey: string;
let scopedKey: string;
let adminSession: string;
let relayToken: string;
const seen = new Set<string>();

beforeEach(async () => {
  upstream = await startUpstream({ script: (call) => call.reply({ body: "no JSON" }) });
  provider = await startIdentityProvider();
  app = await startApp({
    maxBodyBytes: BODY_BYTES_MAX,
    maxEmbeddingBatch: 2,
    // Nobody listens there.
    messagesBaseUrl: "http://127.0.0.1:1",
    oidc: {
      issuer: provider.issuer,
      clientId: CLIENT_ID,
      clientSecret: CLIENT_SECRET,
      scopes: "openid profile email",
      requiredGroup: null,
      adminGroup: null,
      groupsClaim: "groups",
    },
  });
  off = await startHarness({ password: null, config: { adminPasswordEnabled: false } });
  const breaks: any = new Proxy(
    {},
    { get: (_, name) => (name === "peek" ? () => null : () => Promise.reject(new Error("broken"))) },
  );
  const breaksAtOnce: any = new Proxy({}, { get: () => () => breaksAtOnce.value() });
  broken = await startHarness({
    ...Object.fromEntries(
      ["authenticator", "catalog", "passwordSignIn", "loginLinkSignIn", "sso"].map((name) => [name, breaks]),
    ),
    relay: { relay: breaks, authenticator: breaks },
    metrics: breaksAtOnce,
  });
  const make = async (path: string, body: unknown): Promise<any> => {
    const response = await app.api("POST", path, body);
    expect({ path, made: response.ok, text: response.ok || (await response.text()) }).toMatchObject({
      made: true,
    });
    return await response.json();
  };
  await make("/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
  await make("/admin/v1/providers", { name: "gone", base_url: "http://127.0.0.1:1/v1" });
  const capabilities = [...ENDPOINTS];
  await make("/admin/v1/models", { alias: "m", provider: "gone", upstream_name: "u", capabilities });
  await make("/admin/v1/models", { alias: "name", target: "m" });
  await make("/admin/v1/models", {
    alias: "poor",
    provider: "up",
    upstream_name: "u",
    capabilities: ["vision"],
  });
  await make("/admin/v1/principals", { name: "bob" });
  memberKey = (await make("/admin/v1/keys", { principal: "bob" })).key;
  scopedKey = (await make("/admin/v1/keys", { principal: "bob", scope: "inference" })).key;
  relayToken = (await make("/my/relay-tokens", {})).token;
  const signedIn = await app.api("POST", "/auth/password", { password: app.adminPassword }, {});
  adminSession = signedIn.headers.get("set-cookie")!.split(";", 1)[0]!;
});
afterEach(async () => {
  await Promise.all([app.stop(), off.stop(), broken.stop()]);
  await provider.stop();
  await upstream.stop();
});

const findElsewhere = (operation: Route, code: ErrorCode) =>
  SEEN_ELSEWHERE.find((each) => each.code === code && each.of(operation));
const find = (name: string): Route => ROUTES.find((operation) => nameOf(operation) === name)!;
const asAdmin = () => ({ authorization: `Bearer ${app.adminKey}` });
/** The data plane's: their bodies go to the upstream. */
const isEndpoint = ({ access, upstreamErrorHeaders }: Route) =>
  access === "caller" && upstreamErrorHeaders !== undefined;
const isMutation = ({ method, access }: Route) => method !== "GET" && access !== "relay";

/** Sends it, and expects this refusal, as the document has it. */
async function see(operation: Route, code: ErrorCode, sent: Sent = {}): Promise<void> {
  const { path = toPath(operation), headers = asAdmin(), body, to = app } = sent;
  const response = await fetch(to.url + path, {
    method: operation.method,
    redirect: "manual",
    headers: {
      ...(body !== undefined && !(body instanceof FormData) && { "content-type": JSON_TYPE }),
      ...headers,
    },
    ...(body !== undefined && {
      body: typeof body === "string" || body instanceof FormData ? body : JSON.stringify(body),
    }),
  });
  await expectTold(operation, code, response);
}

async function expectTold(operation: Route, code: ErrorCode, response: Response): Promise<void> {
  const cell = `${nameOf(operation)} ${code}`;
  expect({ cell, told: toErrorCodes(operation).includes(code) }).toEqual({ cell, told: true });
  if (operation.method === "HEAD") {
    // A HEAD has no body that could name the code.
    expect({ cell, status: response.status }).toEqual({ cell, status: ERROR_STATUS[code] });
    expect(response.headers.get("x-proxy-error-source")).toBe("proxy");
  } else {
    const envelope: unknown = await response
      .clone()
      .json()
      .catch(() => null);
    expect({ cell, status: response.status, envelope }).toMatchObject({ cell, status: ERROR_STATUS[code] });
    await expectError(response, `${ERROR_STATUS[code]} ${code}`);
    const place = [...stepsOf(operation), "responses", String(response.status)];
    expect({ cell, faults: faultsOf(envelope, place) }).toEqual({ cell, faults: [] });
  }
  seen.add(cell);
}

/** A response of the document refers to one that many routes have in common; beside an upstream's own stands ours. */
function faultsOf(envelope: unknown, place: readonly string[]): readonly string[] {
  const ref: string = place.reduce((at: any, step) => at[step], openApi).$ref;
  const steps = [...ref.split("/").slice(1), "content", JSON_TYPE, "schema"];
  return findFaults(envelope, ...steps, ...(ref.endsWith(".upstream") ? ["anyOf", "0"] : []));
}

function toPath(operation: Route): string {
  return toTemplate(operation)
    .replace("{token}", relayToken)
    .replace("{path}", "v1/messages")
    .replace(/\{[a-z]+\}/, NOBODY);
}

test("what is asked of every request is refused on every route: its host, its credential, its origin, its body", async () => {
  for (const operation of ROUTES) {
    const { access, scope, method, body, example = {} } = operation;
    const json = method === "GET" || method === "HEAD" ? {} : { body: example };
    await see(operation, "invalid_host", { headers: { ...asAdmin(), host: "no host" }, ...json });
    const foreign = { ...asAdmin(), host: "evil.example", origin: "http://evil.example" };
    await see(operation, "host_not_allowed", { headers: foreign, ...json });
    if (operation.infallible !== true) await see(operation, "internal_error", { to: broken, ...json });
    if (access === "caller" || access === "admin") {
      await see(operation, "missing_api_key", { headers: {} });
      await see(operation, "invalid_api_key", { headers: { authorization: "Bearer lp_unknown" } });
    }
    if ((access === "caller" || access === "admin") && scope === undefined)
      await see(operation, "scope_required", { headers: { authorization: `Bearer ${scopedKey}` } });
    if (access === "admin")
      await see(operation, "admin_required", { headers: { authorization: `Bearer ${memberKey}` } });
    if (isMutation(operation)) {
      const own = { cookie: adminSession };
      await see(operation, "cross_origin_rejected", {
        headers: { ...own, origin: "http://evil.example" },
        body: "{}",
      });
      await see(operation, "invalid_json", { headers: { ...own, "content-type": "text/plain" }, body: "{}" });
    }
    const isTyped = body !== undefined && access !== "relay" && !isEndpoint(operation);
    if (isTyped) await see(operation, "invalid_request", { body: "[]" });
    if (body !== undefined || (access === "relay" && method !== "GET" && method !== "HEAD")) {
      await see(operation, "request_too_large", { body: " ".repeat(BODY_BYTES_MAX + 1) });
    }
  }
});

test("a data plane request is refused for its model, its capability, its batch and an upstream that is not there", async () => {
  for (const operation of ROUTES.filter(isEndpoint)) {
    // There no model can do anything.
    if (toErrorCodes(operation).includes("unknown_endpoint"))
      await see(operation, "unknown_endpoint", {
        to: off,
        headers: {},
        ...(operation.body !== undefined && { body: {} }),
      });
    if (isById(operation)) {
      await see(operation, "response_not_found");
      continue;
    }
    const isForm = operation.bodyType !== undefined;
    const asking = (fields: Record<string, string>) => ({ body: isForm ? toForm(fields) : fields });
    if (isForm || operation.path.endsWith("/edits"))
      await see(operation, "invalid_multipart", {
        headers: { ...asAdmin(), "content-type": "multipart/form-data" },
        body: "no form",
      });
    await see(operation, "model_required", asking({ a: "b" }));
    await see(operation, "model_not_found", asking({ model: "nothing" }));
    await see(operation, "endpoint_not_supported", asking({ model: "poor" }));
    await see(operation, "provider_unreachable", asking({ model: "m" }));
    if (operation.path.endsWith("embeddings")) {
      await see(operation, "embedding_batch_too_large", { body: { model: "m", input: ["1", "2", "3"] } });
    }
  }
  for (const operation of ROUTES.filter(({ path, tag }) => tag === "Models" && path.endsWith("/models"))) {
    await see(operation, "invalid_endpoint", { path: `${operation.path}?endpoint=x` });
    const path = `${operation.path}?include_hidden=1`;
    await see(operation, "missing_api_key", { path, headers: {} });
    await see(operation, "invalid_api_key", { path, headers: { "x-api-key": "lp_unknown" } });
  }
});

test("the relay refuses every method alike", async () => {
  for (const operation of ROUTES.filter(({ access }) => access === "relay")) {
    await see(operation, "transparent_relay_disabled", { to: off });
    await see(operation, "unknown_relay_token", {
      path: `/transparent/messages/${app.adminKey}/v1/messages`,
    });
    await see(operation, "unknown_endpoint", { path: `/transparent/messages/${relayToken}/` });
    await see(operation, "provider_unreachable");
    if (operation.method !== "GET" && operation.method !== "HEAD") continue;
    // No client sends these two with a body, so bytes are sent.
    const head = [
      `${operation.method} ${toPath(operation)} HTTP/1.1`,
      "Host: localhost",
      "Connection: close",
      "Content-Length: 1",
    ];
    const raw = await sendRaw(Number(new URL(app.url).port), `${head.join("\r\n")}\r\n\r\nx`);
    await expectTold(operation, "invalid_request", toResponse(raw));
  }
});

test("sign-in refuses with each of its codes", async () => {
  await see(find("POST /auth/password"), "wrong_password", { headers: {}, body: { password: "wrong" } });
  await see(find("POST /auth/password"), "password_login_disabled", { to: off, headers: {}, body: {} });
  await see(find("POST /auth/login-link"), "invalid_login_link", { headers: {}, body: { token: "lpl_x" } });
  const [login, callback] = [find("GET /auth/login"), find("GET /auth/callback")];
  await see(login, "sso_not_configured", { to: off });
  await see(callback, "sso_not_configured", { to: off });
  await see(login, "sso_exchange_failed");
  provider.serve({ redirectUri: `${app.url}/auth/callback`, accounts: {} });
  const begin = async (query = "") => {
    const { headers } = await app.api("GET", `/auth/login${query}`);
    const state = new URL(headers.get("location")!).searchParams.get("state")!;
    return { state, headers: { cookie: headers.get("set-cookie")!.split(";", 1)[0]! } };
  };
  const retry = await begin("?retry=1");
  await see(callback, "sso_state_mismatch", {
    path: `/auth/callback?state=${retry.state}&code=x`,
    headers: {},
  });
  const denied = await begin();
  const path = `/auth/callback?state=${denied.state}&error=access_denied`;
  await see(callback, "sso_denied", { path, headers: denied.headers });
  const wrong = await begin();
  await see(callback, "sso_exchange_failed", {
    path: `/auth/callback?state=${wrong.state}&code=x`,
    headers: wrong.headers,
  });
  const empty = await begin();
  await see(callback, "sso_code_missing", {
    path: `/auth/callback?state=${empty.state}`,
    headers: empty.headers,
  });
});

test("a notice cannot be tried where no webhook is set", async () => {
  await see(find("POST /admin/v1/notices/test"), "notices_not_configured", {
    to: off,
    headers: { authorization: `Bearer ${off.adminKey}` },
  });
});

test("a browser whose sign-in is refused gets a page, which the document lists beside the envelope", async () => {
  for (const name of ["GET /auth/login", "GET /auth/callback"]) {
    const operation = find(name);
    const response = await fetch(off.url + toPath(operation), { headers: { accept: "text/html" } });
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const place = [...stepsOf(operation), "responses", String(response.status)];
    const ref: string = place.reduce((at: any, step) => at[step], openApi).$ref;
    const { content } = openApi.components.responses[ref.split("/").at(-1)!];
    expect(Object.keys(content)).toEqual([JSON_TYPE, "text/html"]);
  }
  const other = openApi.paths["/my/keys"].get.responses["401"].$ref.split("/").at(-1)!;
  expect(Object.keys(openApi.components.responses[other].content)).toEqual([JSON_TYPE]);
});

test("what is made, changed or asked for is refused with each code of its own", async () => {
  const long = "x".repeat(121);
  const feed = { version: "1", entries: [{ model: "m", unit: "x", price_per_unit: 1 }] };
  const deployment = { model_name: "d", compat_params: { model: "u", api_base: upstream.baseUrl } };
  const admins: any = await (await app.api("GET", "/admin/v1/principals")).json();
  const admin = `/admin/v1/principals/${admins.principals.find((each: any) => each.name === "admin").id}`;
  const deployments: any = await (await app.api("GET", "/model/info")).json();
  const inUse = deployments.data.find((each: any) => each.model_name === "m").model_info.id;

  const created = { name: "p", base_url: upstream.baseUrl };
  const providers = "/admin/v1/providers";
  const drafts = [
    ["invalid_name", { body: { ...created, name: "No" } }],
    ["invalid_wire_format", { body: { ...created, wire_format: "x" } }],
    ["invalid_base_url", { body: { ...created, base_url: "x" } }],
    ["invalid_endpoint", { body: { ...created, endpoints: { x: upstream.baseUrl } } }],
    ["invalid_override", { body: { ...created, endpoints: { chat: "x" } } }],
    ["provider_exists", { body: { ...created, name: "up" } }],
  ] as const;
  await refuse(`POST ${providers}`, drafts);
  await refuse("POST /admin/v1/discover", [
    ...drafts,
    ["provider_unreachable", { body: { ...created, base_url: "http://127.0.0.1:1/v1" } }],
    ["discovery_failed", { body: created }],
  ]);
  await refuse(`PATCH ${providers}/:name`, [
    ["invalid_base_url", { path: `${providers}/up`, body: { base_url: "x" } }],
    ["invalid_endpoint", { path: `${providers}/up`, body: { endpoints: { x: upstream.baseUrl } } }],
    ["invalid_override", { path: `${providers}/up`, body: { endpoints: { chat: "x" } } }],
    ["provider_not_found", { body: {} }],
  ]);
  await refuse(`POST ${providers}/:name/test`, [
    ["invalid_base_url", { path: `${providers}/up/test`, body: { base_url: "x" } }],
    ["invalid_endpoint", { path: `${providers}/up/test`, body: { endpoints: { x: upstream.baseUrl } } }],
    ["invalid_override", { path: `${providers}/up/test`, body: { endpoints: { chat: "x" } } }],
    ["provider_not_found", { body: {} }],
    ["provider_unreachable", { path: `${providers}/gone/test`, body: {} }],
    ["discovery_failed", { path: `${providers}/up/test`, body: {} }],
  ]);
  await refuse(`POST ${providers}/:name/restore-credential`, [
    ["provider_not_found"],
    ["former_credential_not_found", { path: `${providers}/up/restore-credential` }],
  ]);
  await refuse(`GET ${providers}/:name`, [["provider_not_found"]]);
  await refuse(`DELETE ${providers}/:name`, [["provider_not_found"]]);
  await refuse(`GET ${providers}/:name/discover`, [
    ["provider_not_found"],
    ["provider_unreachable", { path: `${providers}/gone/discover` }],
    ["discovery_failed", { path: `${providers}/up/discover` }],
  ]);

  const model = { alias: "a", provider: "up", upstream_name: "u" };
  await refuse("POST /admin/v1/models", [
    ["invalid_name", { body: { ...model, alias: " " } }],
    ["invalid_target", { body: { alias: "a", target: "nothing" } }],
    ["invalid_pricing", { body: { ...model, pricing: { input_tokens: -1 } } }],
    ["invalid_price_variants", { body: { ...model, price_variants: [{}] } }],
    ["provider_not_found", { body: { ...model, provider: "nobody" } }],
    ["alias_exists", { body: { ...model, alias: "m" } }],
  ]);
  const path = "/admin/v1/models/m";
  await refuse("PATCH /admin/v1/models/:alias", [
    ["invalid_name", { path, body: { alias: " " } }],
    ["invalid_target", { path, body: { target: "m" } }],
    ["invalid_pricing", { path, body: { pricing: { input_tokens: -1 } } }],
    ["invalid_price_variants", { path, body: { price_variants: [{}] } }],
    ["invalid_date", { path, body: { pricing: {}, effective_from: "tomorrow" } }],
    ["provider_not_found", { path, body: { provider: "nobody" } }],
    ["model_not_found", { body: {} }],
    ["alias_exists", { path, body: { alias: "poor" } }],
  ]);
  await refuse("DELETE /admin/v1/models/:alias", [["model_not_found"], ["model_in_use", { path }]]);
  await refuse("GET /admin/v1/resolve", [
    ["model_required"],
    ["invalid_endpoint", { path: "/admin/v1/resolve?model=m&endpoint=x" }],
    ["model_not_found", { path: "/admin/v1/resolve?model=nothing" }],
    ["endpoint_not_supported", { path: "/admin/v1/resolve?model=poor" }],
  ]);
  const conditional = [{ model: "m", unit: "input_tokens", price_per_million: 1, when: {} }];
  await refuse("POST /admin/v1/pricing", [
    ["invalid_pricing", { body: feed }],
    ["invalid_price_variants", { body: { version: "v", entries: conditional } }],
    [
      "invalid_date",
      { body: { version: "v", entries: [{ ...conditional[0], when: undefined, effective_from: "x" }] } },
    ],
  ]);
  await refuse("POST /admin/v1/pricing/preview", [
    ["invalid_pricing", { body: { entries: feed.entries } }],
    ["invalid_price_variants", { body: { entries: conditional } }],
    ["model_not_found", { body: { model: "gone", pricing: {} } }],
  ]);
  const bill = { name: "bill.csv", text: "date,model,requests\n2026-03-11,u,1\n" };
  const bills = { files: [bill], map: { date: "date", model: "model", requests: "requests" } };
  const years = { ...bill, text: `${bill.text}2006-03-11,u,1\n` };
  await refuse("POST /admin/v1/reconcile", [
    ["invalid_bill", { body: { files: [bill] } }],
    ["invalid_date", { body: { ...bills, since: "soon" } }],
    ["provider_not_found", { body: { ...bills, provider: "nobody" } }],
    ["range_too_large", { body: { ...bills, files: [years] } }],
  ]);
  const url = { base_url: upstream.baseUrl };
  const file = (ofProviders: object, models: object = {}, toCome: readonly object[] = []) => ({
    body: { lockport_catalog: 1, providers: ofProviders, models, prices_to_come: toCome },
  });
  const addOnly = "/admin/v1/catalog?add_only=1";
  const other = { base_url: "http://127.0.0.1:9/v1" };
  await refuse("POST /admin/v1/catalog", [
    ["invalid_name", file({ No: url })],
    ["invalid_base_url", file({ p: { base_url: "x" } })],
    ["invalid_endpoint", file({ p: { ...url, endpoints: { x: upstream.baseUrl } } })],
    ["invalid_override", file({ p: { ...url, endpoints: { chat: "x" } } })],
    ["invalid_target", file({}, { a: { target: "nothing" } })],
    [
      "invalid_pricing",
      file({ p: url }, { a: { provider: "p", upstream_name: "u", prices: { input_tokens: -1 } } }),
    ],
    [
      "invalid_price_variants",
      file({ p: url }, { a: { provider: "p", upstream_name: "u", price_variants: [{}] } }),
    ],
    ["model_not_found", file({}, {}, [{ effective_from: "2999-01-01", model: "nothing", prices: {} }])],
    ["invalid_date", file({}, {}, [{ effective_from: "2020-01-01", model: "u", prices: {} }])],
    ["provider_not_found", file({}, { a: { provider: "nobody", upstream_name: "u" } })],
    ["provider_exists", { path: addOnly, ...file({ up: other }) }],
    ["alias_exists", { path: addOnly, ...file({}, { m: { provider: "up", upstream_name: "another" } }) }],
  ]);
  await refuse("POST /model/new", [
    ["invalid_name", { body: { ...deployment, model_name: " " } }],
    ["invalid_base_url", { body: { ...deployment, compat_params: { model: "u", api_base: "x" } } }],
    ["alias_exists", { body: { ...deployment, model_name: "m" } }],
  ]);
  await refuse("POST /model/delete", [
    ["model_not_found", { body: { id: NOBODY } }],
    ["model_in_use", { body: { id: inUse } }],
  ]);

  await refuse("POST /admin/v1/principals", [
    ["invalid_name", { body: { name: "No" } }],
    ["invalid_tags", { body: { name: "tagged", tags: "team" } }],
    ["principal_exists", { body: { name: "bob" } }],
  ]);
  await refuse("PATCH /admin/v1/principals/:id", [
    ["principal_not_found", { body: {} }],
    ["invalid_tags", { path: admin, body: { tags: "team" } }],
    ["last_admin", { path: admin, body: { role: "member" } }],
  ]);
  await refuse("DELETE /admin/v1/principals/:id", [["principal_not_found"], ["last_admin", { path: admin }]]);
  await refuse("POST /admin/v1/principals/:id/revoke-sessions", [["principal_not_found"]]);
  await refuse("POST /admin/v1/keys", [
    ["invalid_label", { body: { principal: "bob", label: long } }],
    ["principal_not_found", { body: { principal: "nobody" } }],
  ]);
  const terms: readonly (readonly [ErrorCode, Sent])[] = [
    ["invalid_label", { body: { label: long } }],
    ["invalid_expiry", { body: { expires_at: "soon" } }],
    ["invalid_tags", { body: { tags: "team" } }],
  ];
  const models: readonly [ErrorCode, Sent] = ["invalid_models", { body: { models: [] } }];
  const named = ([code, { body }]: (typeof terms)[number]) =>
    [code, { body: { principal: "bob", ...(body as object) } }] as const;
  await refuse("POST /admin/v1/keys", [...terms, models].map(named));
  await refuse("POST /my/keys", [...terms, models]);
  await refuse("POST /my/relay-tokens", terms);
  for (const place of ["/my", "/admin/v1"]) {
    await refuse(`PATCH ${place}/keys/:id`, [...terms, models, ["key_not_found", { body: {} }]]);
    await refuse(`POST ${place}/keys/:id/rotate`, [["key_not_found", { body: {} }]]);
    await refuse(`PATCH ${place}/relay-tokens/:id`, [...terms, ["relay_token_not_found", { body: {} }]]);
  }
  for (const [kind, list] of [
    ["keys", "keys"],
    ["relay-tokens", "relay_tokens"],
  ] as const) {
    const headers = { authorization: `Bearer ${memberKey}` };
    await app.api("POST", `/my/${kind}`, {}, headers);
    const own: any = await (await app.api("GET", `/my/${kind}`, undefined, headers)).json();
    const { id } = own[list].at(-1);
    await app.api("PATCH", `/admin/v1/${kind}/${id}`, { enabled: false });
    await refuse(`PATCH /my/${kind}/:id`, [
      ["admin_required", { path: `/my/${kind}/${id}`, headers, body: { enabled: true } }],
    ]);
    await refuse(`POST /my/${kind}`, [["admin_required", { headers, body: { tags: [] } }]]);
  }
  const bound: any = await (await app.api("POST", "/my/keys", { models: ["gpt"] })).json();
  const bearer = { authorization: `Bearer ${bound.key}` };
  await refuse("POST /my/keys/:id/rotate", [["admin_required", { headers: bearer, body: {} }]]);
  await refuse("DELETE /admin/v1/keys/:id", [["key_not_found"]]);
  await refuse("GET /stats/requests/:id", [["request_not_found"]]);
  await refuse("GET /my/requests/:id", [["request_not_found"]]);
  await refuse("DELETE /admin/v1/relay-tokens/:id", [["relay_token_not_found"]]);
  await refuse("DELETE /my/keys/:id", [["key_not_found"]]);
  await refuse("DELETE /my/relay-tokens/:id", [["relay_token_not_found"]]);
  for (const operation of ROUTES.filter(({ query }) => query?.some(({ name }) => name === "dry_run"))) {
    if (operation.method !== "DELETE") continue;
    await see(operation, "invalid_request", { path: `${toTemplate(operation)}?dry_run=yes` });
  }
  await refuse("GET /admin/v1/limits", [["invalid_request", { path: "/admin/v1/limits?subject=somebody" }]]);
  await refuse("GET /admin/v1/catalog", [["invalid_request", { path: "/admin/v1/catalog?people=x" }]]);
  await refuse("GET /*", [["unknown_endpoint", { path: "/v1/nothing" }]]);
});

test("a report is refused for its window, its bucket and its filters", async () => {
  const queries: { readonly [code in ErrorCode]?: string } = {
    invalid_date: "since=x",
    invalid_outcome: "outcome=x",
    // The first for reports with filters, the others for a series that is grouped and for a breakdown.
    invalid_request: "tag=a:1&tag=b:2&tag=c:3&tag=d:4&tag=e:5&group_by=x&sort=x",
    invalid_bucket: "bucket=x",
    range_too_large: "bucket=hour&since=2020-01-01",
  };
  const models = { any: "m" };
  await refuse("POST /stats/what-if", [
    ["invalid_date", { body: { models, since: "x" } }],
    ["invalid_outcome", { body: { models, filters: { outcome: "x" } } }],
    ["invalid_request", { body: { models, filters: { none: "x" } } }],
    ["model_not_found", { body: { models: { any: "none" } } }],
  ]);
  await refuse("GET /stats/focus", [
    ["invalid_date", { path: "/stats/focus?month=2026-13" }],
    ["invalid_request", { path: "/stats/focus?currency=euro" }],
  ]);
  await refuse("GET /stats/statement", [["invalid_date", { path: "/stats/statement?month=2026-13" }]]);
  const reads = ROUTES.filter(({ method }) => method === "GET");
  for (const operation of reads.filter(
    ({ path }) =>
      !/^\/stats\/(focus|statement)$/.test(path) && /usage|\/stats\/|\/requests|\/refusals/.test(path),
  )) {
    for (const code of operation.errors ?? []) {
      if (findElsewhere(operation, code) !== undefined) continue;
      await see(operation, code, { path: `${operation.path}?${queries[code]}` });
    }
  }
});

test("every code that the document lists for a route was seen to come from it, here or in the test that is named", async () => {
  const missing: string[] = [];
  for (const operation of ROUTES) {
    for (const code of toErrorCodes(operation)) {
      if (seen.has(`${nameOf(operation)} ${code}`)) continue;
      const elsewhere = findElsewhere(operation, code);
      const text =
        elsewhere === undefined ? "" : await Bun.file(join(import.meta.dir, "..", elsewhere.file)).text();
      if (!new RegExp(`\\b${code}\\b`).test(text)) missing.push(`${nameOf(operation)} ${code}`);
    }
  }
  expect(missing).toEqual([]);
});

async function refuse(name: string, refusals: readonly (readonly [ErrorCode, Sent?])[]): Promise<void> {
  for (const [code, sent] of refusals) await see(find(name), code, sent);
}
