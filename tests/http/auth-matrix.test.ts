import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { createRelayAuthenticator, type RelayAuthenticator } from "#identity/caller.ts";
import { toBadTokens, toCredentials, type Cast, type Credential } from "./auth-credentials.ts";
import { audienceOf, expectCell, expectedOf, inOrder, refused, sendCell, toPath } from "./auth-rules.ts";
import {
  createCaller,
  openSession,
  sendRaw,
  startHarness,
  toResponse,
  type Harness,
  openEndpoints,
} from "./support.ts";

/**
 * Every route that is served × every credential (reliability: the auth matrix). Requests name nothing that exists, and
 * their bodies are no objects, so that whoever is let in changes nothing.
 */

const COMPLETION = { status: 200, code: null };

let harness: Harness;
let relayAuthenticator: RelayAuthenticator;
let credentials: readonly Credential[];
let cast: Cast;

beforeEach(async () => {
  harness = await startHarness({
    relay: {
      relay: { send: async () => ({ kind: "responded", response: new Response("relayed") }) },
      // The store is the harness's own, which does not exist yet.
      authenticator: { authenticate: (token) => relayAuthenticator.authenticate(token) },
    },
  });
  await openEndpoints(harness);
  const { identity, keyUse, keys, principals, relayTokens, clock } = harness.deps;
  relayAuthenticator = createRelayAuthenticator({ store: identity, keyUse, secrets: harness.secrets, clock });

  const member = await createCaller(harness, "member");
  const admin = await createCaller(harness, "second-admin", "admin");
  const deleted = await createCaller(harness, "deleted-key", "admin");
  await keys.delete({ id: deleted.keyId }, null);
  const former = await createCaller(harness, "rotated-key", "admin");
  await keys.rotate({ id: former.keyId }, { graceSeconds: 600 }, null);
  const scoped = await keys.create({ principalId: admin.principal.id, scope: "inference" }, null);
  const service = await principals.create({ name: "service", kind: "service" }, null);
  const serviceKey = (await keys.create({ principalId: service.id }, null)).plaintext;
  const tokenOf = async (principalId: string) => await relayTokens.create({ principalId }, null);
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

  cast = {
    url: harness.url,
    goodToken: (await tokenOf(admin.principal.id)).plaintext,
    deletedToken: deletedToken.plaintext,
    serviceKey,
    member,
    admin,
    deleted,
    former,
    scoped: { key: scoped.plaintext },
    gone,
    disabled,
    demoted,
    revoked,
    adminSession: await openSession(harness, admin.principal),
    memberSession: await openSession(harness, member.principal),
    expiredSession: await openSession(harness, admin.principal, 0),
  };
  credentials = toCredentials(cast);
});
afterEach(() => harness.stop());

describe("every route that is served", () => {
  test("answers every credential as the specification has it: status and code of each cell", async () => {
    let cells = 0;
    for (const route of inOrder(harness.routes)) {
      for (const credential of credentials) {
        const cell = `${route.method} ${route.path} with ${credential.name}`;
        const response = await sendCell(harness.url, route, credential.headers, cast.goodToken);
        await expectCell(cell, response, expectedOf(route, credential, COMPLETION), route.method === "HEAD");
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
        `${route.method} ${toPath(route, cast.goodToken)} HTTP/1.1`,
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
      for (const [name, token] of toBadTokens(cast)) {
        for (const headers of [{}, admin]) {
          const cell = `${route.method} with ${name}`;
          const response = await sendCell(harness.url, route, headers, token);
          await expectCell(cell, response, refused("unknown_relay_token"), route.method === "HEAD");
        }
      }
    }
  });
});
