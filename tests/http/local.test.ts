import { treaty } from "@elysiajs/eden/treaty2";
import { afterEach, beforeEach, expect, test } from "bun:test";
import type { Api } from "#http/controllers.ts";
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
  const fetcher: any = (input: string, init: RequestInit) => app.fetch(new Request(input, init));
  return treaty<Api>("http://localhost", { fetcher, parseDate: false });
}

test("a local command asks the app in process without a credential, and is audited as nobody's principal", async () => {
  const api = openLocally();
  const made = await api.admin.v1.providers.post({ name: "up", base_url: "http://127.0.0.1:1/v1" });
  expect(made.status).toBe(201);
  const refused = await api.admin.v1.providers.post({ name: "up", base_url: "http://127.0.0.1:1/v1" });
  expect(refused.error).toMatchObject({ status: 409, value: { error: { code: "provider_exists" } } });
  const { data } = await api.admin.v1.providers.get();
  expect(data?.providers.map(({ name }) => name)).toEqual(["up"]);
  const events = await api.admin.v1.events.get();
  expect(events.data?.events).toMatchObject([
    { actor_principal_id: "local", actor: "(local command)", action: "provider.create", target_ref: "up" },
  ]);
});

test("a route whose part a local command does not have fails with its cause, and touches nothing", async () => {
  const api = openLocally();
  const { error } = await api.stats.series.get();
  expect(error?.value).toMatchObject({ message: "a local command does not have this part" });
});
