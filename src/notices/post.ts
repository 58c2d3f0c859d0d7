import { systemCode } from "#kernel/system-code.ts";
import { withinLimit } from "#kernel/timer.ts";
import type { Notice } from "./notice.ts";

/** Where notices go. The URL of a chat's webhook is a secret by itself: neither part of this is ever logged or shown. */
export interface NoticeTarget {
  readonly url: string;
  /** Null: bodies are not signed. */
  readonly secret: string | null;
}

export type PostOutcome =
  /** Whatever the status: a redirect is not followed. */
  | { readonly kind: "answered"; readonly status: number }
  /** `timeout`, a code of the system such as `ECONNREFUSED`, or `connection_error`. */
  | { readonly kind: "failed"; readonly reason: string };

/** Sends one notice once. Never rejects. */
export type NoticePost = (notice: Notice, signal: AbortSignal) => Promise<PostOutcome>;

/** From the call to the head of the answer, the connection included. */
const POST_MS_MAX = 10_000;

export function createNoticePost({ url, secret }: NoticeTarget, limitMs = POST_MS_MAX): NoticePost {
  return async (notice, signal) => {
    const body = toBody(notice, url);
    const ending = new AbortController();
    const cutOff = (): PostOutcome => {
      ending.abort();
      return { kind: "failed", reason: signal.aborted ? "stopped" : "timeout" };
    };
    if (signal.aborted) return cutOff();
    return withinLimit(send(url, { body, secret, signal: ending.signal }), limitMs, cutOff, signal);
  };
}

export function isDelivered(outcome: PostOutcome): boolean {
  return outcome.kind === "answered" && outcome.status >= 200 && outcome.status <= 299;
}

interface Sending {
  readonly body: string;
  readonly secret: string | null;
  readonly signal: AbortSignal;
}

async function send(url: string, { body, secret, signal }: Sending): Promise<PostOutcome> {
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "lockport",
        ...(secret !== null && { "x-proxy-signature": toSignature(body, secret) }),
      },
      body,
      // One that was kept open may have gone meanwhile.
      keepalive: false,
      // The body would go wherever the answer says, with its signature.
      redirect: "manual",
      decompress: false,
      timeout: false,
      signal,
    });
    // Nothing of the answer is read but its status.
    response.body?.cancel().catch(() => undefined);
    return { kind: "answered", status: response.status };
  } catch (cause) {
    // The message of a failure holds the URL.
    return { kind: "failed", reason: systemCode(cause) ?? "connection_error" };
  }
}

/** `sha256=` and the HMAC-SHA256 of the body's bytes, in hexadecimal. */
function toSignature(body: string, secret: string): string {
  return `sha256=${new Bun.CryptoHasher("sha256", secret).update(body).digest("hex")}`;
}

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
