import { describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import type { Notice } from "#notices/notice.ts";
import { createNoticePost } from "#notices/post.ts";
import { openBlackHole } from "../support/upstream.ts";
import { startWebhook } from "./webhook.ts";

describe("a post", () => {
  const notice: Notice = { id: "1", type: "notice.test", at: "2026-11-23T00:00:00.000000Z", text: "Ünïcode" };
  const open = new AbortController().signal;

  test("has the JSON of the notice, and is signed over its bytes with the secret", async () => {
    const webhook = await startWebhook();
    const post = createNoticePost({ url: webhook.url, secret: "s3cret" });
    expect(await post(notice, open)).toEqual({ kind: "answered", status: 200 });
    const { request } = webhook.calls[0]!;
    expect(request.method).toBe("POST");
    expect(request.headers.get("content-type")).toBe("application/json");
    const expected = createHmac("sha256", "s3cret").update(request.body).digest("hex");
    expect(request.headers.get("x-proxy-signature")).toBe(`sha256=${expected}`);
    expect(request.body.toString()).not.toContain("s3cret");
    expect(webhook.notices[0]).toMatchObject({ ...notice });
    await webhook.stop();
  });

  test("is not signed without a secret", async () => {
    const webhook = await startWebhook();
    await createNoticePost({ url: webhook.url, secret: null })(notice, open);
    expect(webhook.calls[0]!.request.headers.has("x-proxy-signature")).toBe(false);
    await webhook.stop();
  });

  test("follows no redirect: the other place gets nothing", async () => {
    const other = await startWebhook();
    const headers = [`location: ${other.url}`];
    for (const status of [301, 302, 303, 307, 308]) {
      const webhook = await startWebhook((call) => call.reply({ status, headers }));
      const post = createNoticePost({ url: webhook.url, secret: "s3cret" });
      expect(await post(notice, open)).toEqual({ kind: "answered", status });
      await webhook.stop();
    }
    expect(other.calls).toHaveLength(0);
    await other.stop();
  });

  test("to a webhook that hangs, to one that is not there and to one that is cut off is given up, and none rejects", async () => {
    const hanging = await startWebhook(() => undefined);
    expect(await createNoticePost({ url: hanging.url, secret: null }, 50)(notice, open)).toEqual({
      kind: "failed",
      reason: "timeout",
    });
    await hanging.calls[0]!.closed;
    const stopping = new AbortController();
    const posted = createNoticePost({ url: hanging.url, secret: null })(notice, stopping.signal);
    await hanging.received(2);
    stopping.abort();
    expect(await posted).toEqual({ kind: "failed", reason: "stopped" });
    await hanging.stop();
    const resetting = await startWebhook((call) => call.reset());
    expect((await createNoticePost({ url: resetting.url, secret: null })(notice, open)).kind).toBe("failed");
    await resetting.stop();
    const gone = await createNoticePost({ url: resetting.url, secret: null })(notice, open);
    expect(gone).toEqual({ kind: "failed", reason: "ECONNREFUSED" });
  });

  test("to an address that answers no connection attempt is given up after its time", async () => {
    const hole = await openBlackHole();
    if (hole === null) return;
    const outcome = await createNoticePost({ url: hole.baseUrl, secret: null }, 50)(notice, open);
    hole.stop();
    expect(outcome).toEqual({ kind: "failed", reason: "timeout" });
  });

  test("reads nothing of an endless answer but its status", async () => {
    const webhook = await startWebhook(async (call) => {
      await call.beginStream();
      while (await call.sendChunk("x".repeat(65_536)));
    });
    expect(await createNoticePost({ url: webhook.url, secret: null })(notice, open)).toEqual({
      kind: "answered",
      status: 200,
    });
    await webhook.calls[0]!.closed;
    await webhook.stop();
  });
});
