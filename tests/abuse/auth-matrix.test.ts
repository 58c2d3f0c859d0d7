import { afterEach, beforeEach, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { listRoutes } from "#http/local.ts";
import { startSite, type Site } from "../faults/site.ts";
import { toBadTokens, toCredentials, type Cast, type Doomed, type Keyed } from "../http/auth-credentials.ts";
import { expectCell, expectedOf, inOrder, refused, sendCell } from "../http/auth-rules.ts";
import { checkInvariants } from "../invariants/invariants.ts";
import { executable } from "../support/executable.ts";
import { callApi } from "../support/installation.ts";
import { readNumber } from "../support/scale.ts";
import { startUpstream, type ScriptedUpstream } from "../support/upstream.ts";

/** The matrix of routes and credentials, of people and secrets that are made over HTTP, against the built executable. */

const TEST_MS_MAX = 120_000;
/** All of them, or each third: tests/http/auth-matrix.test.ts tries all of them in the process. */
const STEP = readNumber("LOCKPORT_AUTH_STEP") ?? 3;
const CELLS_MIN = 1_200 / STEP;
/** A body that is no object is no completion's. */
const COMPLETION = { status: 400, code: "model_required" };
const SESSION_PASSED_MS = 1_100;

let upstream: ScriptedUpstream;
let site: Site;
/** Made by a server whose sessions last a second. */
let expiredSession: string;

beforeEach(async () => {
  upstream = await startUpstream({ script: (call) => call.reply({ body: "{}" }) });
  const lockport = await executable();
  site = await startSite({ lockport, baseUrl: upstream.baseUrl, env: { PROXY_SESSION_TTL: "1s" } });
  expiredSession = await signIn();
  const startedMs = performance.now();
  await site.server.stop();
  const server = await site.installation.start({
    env: { PROXY_MESSAGES_BASE_URL: upstream.baseUrl.replace(/\/v1$/, "") },
  });
  site = { ...site, server, port: Number(new URL(server.url).port) };
  await Bun.sleep(Math.max(0, SESSION_PASSED_MS - (performance.now() - startedMs)));
}, TEST_MS_MAX);
afterEach(async () => {
  await site.installation.remove();
  await upstream.stop();
});

/** The `Cookie` header of a session: of the administrator by password, of anybody by a login link. */
async function signIn(name?: string): Promise<string> {
  const [path, body] =
    name === undefined
      ? [
          "/auth/password",
          { password: readFileSync(join(site.installation.dataDir, "admin-password"), "utf8").trim() },
        ]
      : ["/auth/login-link", { token: await makeToken(name) }];
  const response = await fetch(site.server.url + path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const [cookie = ""] = (response.headers.get("set-cookie") ?? "").split(";");
  if (response.status !== 200 || cookie === "")
    throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return cookie;
}

async function makeToken(name: string): Promise<string> {
  const { data, messages } = await site.installation.run("admin", "login-link", "--name", name);
  const [, token] = /#login=(\S+)/.exec(data) ?? [];
  if (token === undefined) throw new Error(`no link: ${data}${messages}`);
  return token;
}

async function admin(method: string, path: string, body?: object): Promise<Record<string, string>> {
  const response = await callApi(site.server.url, site.asked.key, method, path, body);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}

async function makeCast(): Promise<Cast> {
  const makeKeyed = async (
    name: string,
    more: object = {},
  ): Promise<Keyed & { id: string; keyId: string }> => {
    const { id = "" } = await admin("POST", "/admin/v1/principals", { name, ...more });
    const { key = "", id: keyId = "" } = await admin("POST", "/admin/v1/keys", { principal: name });
    return { id, key, keyId };
  };
  const makeRelayToken = async (key: string) => {
    const response = await callApi(site.server.url, key, "POST", "/my/relay-tokens", {});
    return Object(await response.json());
  };
  const makeDoomed = async (name: string, doom: (id: string) => Promise<unknown>): Promise<Doomed> => {
    const { id, key } = await makeKeyed(name, { role: "admin" });
    const { token } = await makeRelayToken(key);
    const session = await signIn(name);
    await doom(id);
    return { key, token, session };
  };
  const at = (id: string) => `/admin/v1/principals/${id}`;
  const deleted = await makeKeyed("deleted-key", { role: "admin" });
  await admin("DELETE", `/admin/v1/keys/${deleted.keyId}`);
  const former = await makeKeyed("rotated-key", { role: "admin" });
  await admin("POST", `/admin/v1/keys/${former.keyId}/rotate`, { grace_seconds: 600 });
  const second = await makeKeyed("second-admin", { role: "admin" });
  const { key: scoped = "" } = await admin("POST", "/admin/v1/keys", {
    principal: "second-admin",
    scope: "inference",
  });
  const deletedToken = await makeRelayToken(second.key);
  await admin("DELETE", `/admin/v1/relay-tokens/${deletedToken.id}`);
  const member = await makeKeyed("member");
  return {
    url: site.server.url,
    goodToken: (await makeRelayToken(second.key)).token,
    deletedToken: deletedToken.token,
    member,
    admin: second,
    deleted,
    former,
    scoped: { key: scoped },
    serviceKey: (await makeKeyed("service", { kind: "service" })).key,
    gone: await makeDoomed("gone", (id) => admin("DELETE", at(id))),
    disabled: await makeDoomed("disabled", (id) => admin("PATCH", at(id), { enabled: false })),
    demoted: await makeDoomed("demoted", (id) => admin("PATCH", at(id), { role: "member" })),
    revoked: await makeDoomed("revoked", (id) => admin("POST", `${at(id)}/revoke-sessions`)),
    adminSession: await signIn("second-admin"),
    memberSession: await signIn("member"),
    expiredSession,
  };
}

test(
  "every route of the executable answers every credential as the specification has it, and a refusal reaches nothing",
  async () => {
    const cast = await makeCast();
    const credentials = toCredentials(cast);
    const routes = listRoutes();
    let cells = 0;
    for (const [row, route] of inOrder(routes).entries()) {
      for (const credential of credentials.filter((_, column) => (row + column) % STEP === 0)) {
        const response = await sendCell(cast.url, route, credential.headers, cast.goodToken);
        const expected = expectedOf(route, credential, COMPLETION);
        const cell = `${route.method} ${route.path} with ${credential.name}`;
        await expectCell(cell, response, expected, route.method === "HEAD");
        cells += 1;
      }
    }
    const relayed = upstream.requests.length;
    for (const route of routes.filter(({ access }) => access === "relay")) {
      for (const [name, token] of toBadTokens(cast)) {
        const response = await sendCell(
          cast.url,
          route,
          { authorization: `Bearer ${cast.admin.key}` },
          token,
        );
        const cell = `${route.method} ${route.path} with ${name}`;
        await expectCell(cell, response, refused("unknown_relay_token"), route.method === "HEAD");
        cells += 1;
      }
    }
    expect(upstream.requests).toHaveLength(relayed);
    expect(cells).toBeGreaterThan(CELLS_MIN);
    const ask = () => fetch(`${site.server.url}/healthz`);
    // Questions about an address are no usage.
    const recorded = upstream.requests.filter(({ method }) => method !== "HEAD" && method !== "OPTIONS");
    await checkInvariants({ ...site, ask, attempts: { eventCount: recorded.length } });
    console.log(`${cells} cells of routes and credentials`);
  },
  TEST_MS_MAX,
);
