import { type Proxied, toCallerHeaders } from "./headers.ts";
import type { UpstreamHead } from "./upstream-head.ts";

/** Statuses without a body: a `Response` refuses one (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5). */
const NULL_BODY_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

/** What the caller gets: the upstream's status and body, and of its headers what crosses the proxy. */
export function toCallerResponse(
  head: UpstreamHead,
  proxied: Proxied,
  body: Uint8Array | ReadableStream<Uint8Array> | null,
): Response {
  const { status } = head.response;
  const headers = toCallerHeaders(head.headers, status, proxied);
  const sent = body instanceof Uint8Array && !head.isTyped ? toUntyped(body) : body;
  return new Response(NULL_BODY_STATUSES.has(status) ? null : sent, { status, headers });
}

/**
 * The runtime adds `application/octet-stream` to bytes without a type, but not to a stream. A stream whose high-water mark
 * is above its length leaves in one piece, with its `content-length` (measured).
 */
function toUntyped(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      type: "direct",
      pull(controller) {
        void controller.write(bytes);
        controller.close();
      },
    },
    { highWaterMark: bytes.length + 1 },
  );
}
