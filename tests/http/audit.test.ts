import { afterEach, beforeEach, expect, test } from "bun:test";
import { call, createCaller, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

/** Oldest first, as `actor action kind target`. */
async function listAudited(): Promise<readonly string[]> {
  const { events } = await (await call(harness, "GET", "/admin/v1/events")).json();
  return events
    .toReversed()
    .map((event: any) => `${event.actor} ${event.action} ${event.target_kind} ${event.target_ref}`);
}

test("what a caller does with keys and relay tokens of its own is audited under its name, refusals are not", async () => {
  const { principal, key } = await createCaller(harness, "anna");
  const before = (await listAudited()).length;
  const ask = async (method: string, path: string, body?: object): Promise<any> => {
    const headers = { authorization: `Bearer ${key}` };
    return await (await call(harness, method, path, { body, headers })).json();
  };
  const expected: string[] = [];
  for (const [path, kind, noun] of [
    ["/my/keys", "api_key", "key"],
    ["/my/relay-tokens", "relay_token", "relay_token"],
  ] as const) {
    const { id } = await ask("POST", path, { label: "a" });
    await ask("PATCH", `${path}/${id}`, { enabled: false });
    await ask("PATCH", `${path}/${id}`, { expires_at: "yesterday" });
    await ask("PATCH", `${path}/none`, { enabled: false });
    if (noun === "key") await ask("POST", `${path}/${id}/rotate`);
    await ask("POST", `${path}/none/rotate`);
    await ask("DELETE", `${path}/${id}`);
    await ask("DELETE", `${path}/${id}`);
    const actions = ["create", "update", ...(noun === "key" ? ["rotate"] : []), "delete"];
    expected.push(...actions.map((action) => `anna ${noun}.${action} ${kind} ${id}`));
  }
  expect((await listAudited()).slice(before)).toEqual(expected);
  expect(JSON.stringify(await listAudited())).not.toContain("yesterday");
  await harness.deps.principals.delete(principal.id, null);
  expect((await listAudited()).slice(before)).toEqual(expected.map((line) => line.replace("anna", "null")));
});
