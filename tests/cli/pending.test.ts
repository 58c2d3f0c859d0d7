import { afterEach, beforeEach, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { type ResponsesProvider, startResponsesProvider } from "../support/responses-provider.ts";
import { runLocal } from "./terminal.ts";

let provider: ResponsesProvider;
let app: TestApp;
beforeEach(async () => {
  provider = await startResponsesProvider();
  app = await startApp();
  await post("/admin/v1/providers", { name: "up", base_url: provider.baseUrl });
  await post("/admin/v1/models", {
    alias: "gpt",
    provider: "up",
    upstream_name: "gpt",
    capabilities: ["responses"],
  });
});
afterEach(async () => {
  await app.stop();
  await provider.stop();
});

async function post(path: string, body: object): Promise<any> {
  const response = await app.api("POST", path, body);
  expect(response.status).toBeLessThan(300);
  return response.json();
}

test("requests tail says pending in place of the cost of a request that is, and of no other", async () => {
  const tail = async () => {
    const line = `requests tail --model gpt --outcome ok --url ${app.url}`.split(" ");
    const { code, data } = await runLocal("/nonexistent", line, { env: { LOCKPORT_API_KEY: app.adminKey } });
    expect(code).toBe(0);
    return data
      .trimEnd()
      .split("\n")
      .slice(1)
      .map((text) => text.split(/ +/).slice(-3));
  };
  const made = await post("/v1/responses", { model: "gpt", input: "hi", background: true });
  await post("/v1/responses", { model: "gpt", input: "hi" });
  expect(await tail()).toEqual([
    ["-", "-", "pending"],
    ["7", "4", "unpriced"],
  ]);
  provider.made.get(made.id)!.status = "completed";
  await (await app.api("GET", `/v1/responses/${made.id}`)).text();
  expect(await tail()).toEqual([
    ["7", "4", "unpriced"],
    ["7", "4", "unpriced"],
    ["-", "-", "-"],
  ]);
});
