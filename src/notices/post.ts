import { systemCode } from "#kernel/system-code.ts";
import { withinLimit } from "#kernel/timer.ts";
import { toBody } from "./body.ts";
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
export const POST_MS_MAX = 10_000;

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
