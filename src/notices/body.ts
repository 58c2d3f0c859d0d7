import type { Notice } from "./notice.ts";

/** Mattermost refuses a `type` that is none of its own (its `Post.IsValid`); its webhooks have ids of 26 characters. */
const MATTERMOST_PATH = /\/hooks\/[a-z0-9]{26}$/;
/** A webhook of Teams' Workflows: it shows Adaptive Cards alone, and reads `type` and `attachments`. */
const WORKFLOW_PATH = /\/workflows\/[0-9a-f]{32}\/triggers\/[^/]+\/paths\/invoke$/;

/**
 * The body that a receiver gets. One serves Slack (`text`), Discord (`content`) and receivers of one's own, and mentions
 * nobody on Discord. Mattermost and Teams read `type` in their own way: for them it is `notice`.
 */
export function toBody(notice: Notice, url: string): string {
  const { pathname } = new URL(url);
  const { type, ...rest } = notice;
  if (MATTERMOST_PATH.test(pathname)) return JSON.stringify({ ...rest, notice: type });
  if (WORKFLOW_PATH.test(pathname))
    return JSON.stringify({ ...rest, notice: type, type: "message", attachments: [toCard(notice.text)] });
  return JSON.stringify({ ...notice, content: notice.text, allowed_mentions: { parse: [] } });
}

function toCard(text: string) {
  return {
    contentType: "application/vnd.microsoft.card.adaptive",
    content: {
      $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
      type: "AdaptiveCard",
      version: "1.4",
      body: [{ type: "TextBlock", text, wrap: true }],
    },
  };
}
