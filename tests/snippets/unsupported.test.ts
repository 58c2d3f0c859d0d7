import { afterAll, beforeAll, expect, test } from "bun:test";
import { CLIENTS } from "#snippets/clients.ts";
import { UNSUPPORTED } from "#snippets/unsupported.ts";
import { startApp, type TestApp } from "../support/app.ts";

let app: TestApp;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app?.stop());

test.each(UNSUPPORTED.flatMap(({ id, calls }) => calls.map((call) => ({ id, call }))))(
  "$id: $call answers 404 unknown_endpoint, with a message that helps",
  async ({ call }) => {
    const [method = "", path = ""] = call.split(" ");
    const response = await app.api(method, path, method === "POST" ? { model: "small" } : undefined);
    const { error } = JSON.parse(await response.text());
    expect({ status: response.status, code: error.code }).toEqual({ status: 404, code: "unknown_endpoint" });
    expect(error.message.length).toBeGreaterThan(20);
  },
);

test("what cannot work says why in a sentence, and is no client with a snippet", () => {
  const ids = UNSUPPORTED.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  for (const { id, reason, instead } of UNSUPPORTED) {
    expect(CLIENTS.map((client) => client.id)).not.toContain(id);
    for (const sentence of [reason, instead]) if (sentence !== null) expect(sentence).toMatch(/[.…]$/);
  }
});
