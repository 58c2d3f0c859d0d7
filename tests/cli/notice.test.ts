import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import type { UpstreamCall } from "../support/upstream.ts";
import { startWebhook, type Webhook } from "../notices/webhook.ts";
import { waysTo } from "./both-ways.ts";

let webhook: Webhook;
let app: TestApp;
let answer: (call: UpstreamCall) => unknown;

beforeEach(async () => {
  answer = (call) => call.reply({ status: 204 });
  webhook = await startWebhook((call) => answer(call));
  app = await startApp({ notices: { url: webhook.url, secret: "s3cret" } });
});
afterEach(async () => {
  await app.stop();
  await webhook.stop();
});

const settings = () => ({ env: { PROXY_NOTICE_URL: webhook.url, PROXY_NOTICE_SECRET: "s3cret" } });

describe("notice test", () => {
  test("sends one signed notice and says what came back, and no part of the URL", async () => {
    for (const way of waysTo(app)) {
      const { code, data, messages } = await way.run("notice test", settings());
      expect({ way: way.name, code, data }).toEqual({
        way: way.name,
        code: 0,
        data: "delivered: the webhook answered 204\n",
      });
      expect(data + messages).not.toContain("SECRET-PATH");
      const json = JSON.parse((await way.run("notice test --json", settings())).data);
      const sent = webhook.notices.at(-1)!;
      expect(json).toEqual({
        id: sent.id,
        type: "notice.test",
        delivered: true,
        status: 204,
        reason: null,
      });
      expect(sent).toMatchObject({ type: "notice.test", text: "This is a test notice of Lockport." });
    }
    expect(webhook.calls).toHaveLength(4);
    for (const { request } of webhook.calls)
      expect(request.headers.get("x-proxy-signature")).toMatch(/^sha256=[0-9a-f]{64}$/);
  });

  test("ends with 69 when the webhook refuses it, redirects it or does not answer, sends it once, and repeats no URL", async () => {
    const replies: readonly (readonly [string, (call: UpstreamCall) => unknown])[] = [
      ["answered 500:", (call) => call.reply({ status: 500 })],
      [
        "a redirect, which is not followed",
        (call) => call.reply({ status: 307, headers: [`location: ${webhook.url}`] }),
      ],
      ["did not answer (", (call) => call.reset()],
    ];
    for (const way of waysTo(app)) {
      for (const [said, reply] of replies) {
        const before = webhook.calls.length;
        answer = reply;
        const { code, data, messages } = await way.run("notice test", settings());
        expect({ code, data }).toEqual({ code: 69, data: "" });
        expect(messages).toContain(said);
        expect(messages).not.toContain("SECRET-PATH");
        expect(webhook.calls.length - before).toBe(1);
        const told = await way.run("notice test --json", settings());
        expect(JSON.parse(told.data)).toMatchObject({ delivered: false });
        expect(told.code).toBe(69);
      }
    }
  });

  test("says what to set where there is no webhook, and sends nothing", async () => {
    const [local] = waysTo(app);
    const { code, messages } = await local.run("notice test");
    expect(code).toBe(1);
    expect(messages).toContain("set PROXY_NOTICE_URL to the URL of a webhook. (notices_not_configured)");
    const malformed = { env: { PROXY_NOTICE_URL: "https://name:word@hooks.example.org/x" } };
    const refused = await local.run("notice test", malformed);
    expect(refused.code).toBe(78);
    expect(refused.messages).toContain("PROXY_NOTICE_URL must be a full http or https URL without user");
    expect(refused.messages).not.toContain("word");
    expect(webhook.calls).toEqual([]);
  });
});
