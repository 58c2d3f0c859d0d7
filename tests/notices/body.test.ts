import { describe, expect, test } from "bun:test";
import { toBody } from "#notices/post.ts";
import { type Notice, toQuotedName } from "#notices/notice.ts";

const NOTICE: Notice = {
  id: "1",
  type: "limit.warned",
  at: "2026-11-23T00:00:00.000000Z",
  text: "A sentence.",
  limit: { name: "day" },
};

describe("the body of a notice", () => {
  test("has its fields, the sentence as Slack and as Discord read it, and mentions nobody there", () => {
    for (const url of ["https://hooks.slack.com/services/T/B/x", "https://discord.com/api/webhooks/1/x"]) {
      expect(JSON.parse(toBody(NOTICE, url))).toEqual({
        ...NOTICE,
        content: "A sentence.",
        allowed_mentions: { parse: [] },
      });
    }
  });

  test("has no type of its own for Mattermost, which refuses one that it does not know", () => {
    const body = JSON.parse(toBody(NOTICE, `https://chat.example.org/hooks/${"a1".repeat(13)}`));
    expect(body).toEqual({
      id: "1",
      notice: "limit.warned",
      at: NOTICE.at,
      text: "A sentence.",
      limit: { name: "day" },
    });
  });

  test("is a message with a card for a workflow of Teams, which shows nothing else", () => {
    const path = `/workflows/${"0a".repeat(16)}/triggers/manual/paths/invoke`;
    for (const url of [
      `https://prod-1.westeurope.logic.azure.com:443${path}?api-version=2016-06-01&sig=x`,
      `https://default.api.powerplatform.com/powerautomate/automations/direct${path}?sig=x`,
    ]) {
      const { attachments, ...body } = JSON.parse(toBody(NOTICE, url));
      const { type: _, ...rest } = NOTICE;
      expect(body).toEqual({ ...rest, type: "message", notice: "limit.warned" });
      expect(attachments).toHaveLength(1);
      expect(attachments[0].content.body).toEqual([{ type: "TextBlock", text: "A sentence.", wrap: true }]);
    }
  });
});

describe("a name in the sentence of a notice", () => {
  test("mentions nobody, links nowhere, breaks no line and is not endless; a mail address stays one", () => {
    expect(toQuotedName("ada@example.org")).toBe('"ada@example.org"');
    expect(toQuotedName("@everyone <!channel> <@U1>")).not.toMatch(/@everyone|<|>/);
    expect(toQuotedName("[click](https://evil.example)")).not.toContain("](");
    expect(toQuotedName("a\nb\u202ec")).toBe(String.raw`"a\u000ab\u202ec"`);
    expect(toQuotedName("x".repeat(500))).toBe(`"${"x".repeat(120)}…"`);
    expect(toQuotedName("\ud800")).toBe('"\ufffd"');
  });
});
