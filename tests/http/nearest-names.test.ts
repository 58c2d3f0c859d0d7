import { afterEach, beforeEach, expect, test } from "bun:test";
import { callApi } from "../support/installation.ts";
import { createCaller, startHarness, type Harness } from "./support.ts";

let harness: Harness;
beforeEach(async () => {
  harness = await startHarness();
});
afterEach(() => harness.stop());

/** The message of a refusal. */
async function ask(method: string, path: string, body?: unknown, key = harness.adminKey): Promise<string> {
  const response = await callApi(harness.url, key, method, path, body);
  const { error }: any = await response.json();
  return error?.message ?? "";
}

test("a name that does not exist is refused with the one that was probably meant, and a far one with none", async () => {
  await ask("POST", "/admin/v1/providers", { name: "openai", base_url: "http://127.0.0.1:9/v1" });
  await ask("POST", "/admin/v1/models", { alias: "gpt-4o", provider: "openai", upstream_name: "m" });
  const { key, principal } = await createCaller(harness, "linus");
  const { keys }: any = await (await callApi(harness.url, key, "GET", "/my/keys")).json();
  const { id, key_suffix: suffix } = keys[0];
  await callApi(harness.url, key, "PATCH", `/my/keys/${id}`, { label: "desk" });
  const made = { name: "monthly", subject: {}, measure: "requests", amount: 1, window: "day" };
  const monthly: any = await (
    await callApi(harness.url, harness.adminKey, "POST", "/admin/v1/limits", made)
  ).json();
  const limit = { name: "x", measure: "requests", amount: 1, window: "day" };
  const draft = (provider: string) => ({ alias: "x", provider, upstream_name: "x" });
  const typo = `${id.slice(0, -1)}x`;
  for (const [method, path, body, meant] of [
    ["GET", "/admin/v1/providers/opnai", undefined, "openai"],
    ["PATCH", "/admin/v1/providers/opnai", { enabled: false }, "openai"],
    ["DELETE", "/admin/v1/providers/opnai", undefined, "openai"],
    ["GET", "/admin/v1/providers/opnai/discover", undefined, "openai"],
    ["POST", "/admin/v1/models", draft("opnai"), "openai"],
    ["POST", "/admin/v1/models", { alias: "x", target: "gpt4o" }, "gpt-4o"],
    ["PATCH", "/admin/v1/models/gpt4o", { hidden: true }, "gpt-4o"],
    ["DELETE", "/admin/v1/models/gpt4o?dry_run=1", undefined, "gpt-4o"],
    ["POST", "/admin/v1/keys", { principal: "linsu" }, "linus"],
    ["POST", "/admin/v1/limits", { ...limit, subject: { principal: "linsu" } }, "linus"],
    ["POST", "/admin/v1/limits", { ...limit, subject: { key: typo } }, id],
    ["DELETE", "/admin/v1/keys/desk", undefined, id],
    ["DELETE", `/admin/v1/keys/${suffix}`, undefined, id],
    ["PATCH", `/admin/v1/keys/${typo}`, { label: "x" }, id],
    ["POST", "/admin/v1/limits", { ...limit, subject: { relay_token: typo } }, null],
    ["GET", "/admin/v1/limits/montly", undefined, monthly.id],
    ["GET", "/admin/v1/limits/monthly/usage", undefined, monthly.id],
    ["PATCH", "/admin/v1/limits/monthly", { amount: 2 }, monthly.id],
    ["DELETE", `/admin/v1/limits/${monthly.id.slice(0, -1)}x`, undefined, monthly.id],
    ["PATCH", "/admin/v1/principals/linus", { enabled: false }, principal.id],
    ["DELETE", "/admin/v1/principals/linsu", undefined, principal.id],
    ["DELETE", "/admin/v1/principals/linus?dry_run=1", undefined, principal.id],
    ["POST", "/admin/v1/principals/linus/revoke-sessions", undefined, principal.id],
  ] as const)
    expect({ path, body, message: await ask(method, path, body) }).toMatchObject({
      message:
        meant === null
          ? expect.not.stringContaining("Did you mean")
          : expect.stringMatching(new RegExp(` Did you mean \`${meant}\`( \\(\`(monthly|linus)\`\\))?\\?$`)),
    });
  for (const path of ["/admin/v1/providers/something-else", "/admin/v1/keys/%00", "/admin/v1/models/other"])
    expect(await ask("DELETE", path)).not.toContain("Did you mean");
});

test("nobody is told a name that it may not see", async () => {
  await ask("POST", "/admin/v1/providers", { name: "openai", base_url: "http://127.0.0.1:9/v1" });
  const { key: other } = await createCaller(harness, "linus");
  const { key } = await createCaller(harness, "eve");
  await callApi(harness.url, other, "POST", "/my/keys", { label: "desk" });
  const { keys }: any = await (await callApi(harness.url, other, "GET", "/my/keys")).json();
  for (const path of [
    "/admin/v1/providers/opnai",
    "/my/keys/desk",
    `/my/keys/${keys[0].id.slice(0, -1)}x`,
    `/my/keys/${keys[0].key_suffix}`,
  ])
    expect(await ask("DELETE", path, undefined, key)).not.toContain("Did you mean");
  expect(await ask("DELETE", "/my/keys/desk", undefined, other)).toContain("Did you mean");
});
