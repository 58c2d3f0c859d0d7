import { afterEach, beforeEach, expect, test } from "bun:test";
import { createLocalApp } from "#http/local.ts";
import { startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

function openLocally() {
  const { clock, log, catalog, principals, audit } = harness.deps;
  const app = createLocalApp({ clock, log, catalog, principals, audit });
  return async (method: string, path: string, body?: object) => {
    const headers = { "content-type": "application/json" };
    const init = body === undefined ? { method } : { method, headers, body: JSON.stringify(body) };
    const response = await app.fetch(new Request(`http://localhost${path}`, init));
    return { status: response.status, body: await response.json() };
  };
}

test("a local command asks the app in process without a credential, and is audited as nobody's principal", async () => {
  const ask = openLocally();
  const draft = { name: "up", base_url: "http://127.0.0.1:1/v1" };
  expect(await ask("POST", "/admin/v1/providers", draft)).toMatchObject({
    status: 201,
    body: { name: "up" },
  });
  expect(await ask("POST", "/admin/v1/providers", draft)).toMatchObject({
    status: 409,
    body: { error: { code: "provider_exists" } },
  });
  expect(await ask("GET", "/admin/v1/providers")).toMatchObject({ body: { total: 1 } });
  expect((await ask("GET", "/admin/v1/events")).body).toMatchObject({
    events: [
      { actor_principal_id: "local", actor: "(local command)", action: "provider.create", target_ref: "up" },
    ],
  });
});

test("a route whose part a local command does not have fails with its cause, and touches nothing", async () => {
  const ask = openLocally();
  const failure = await ask("GET", "/stats/series").catch((cause: unknown) => cause);
  expect(failure).toMatchObject({ message: "a local command does not have this part" });
});
