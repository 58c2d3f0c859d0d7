import { isLoopback } from "#kernel/loopback.ts";
import { withinLimit } from "#kernel/timer.ts";

/** Limit from the first byte sent to the last one read: a person waits for it in front of a page. */
export const PROVIDER_REQUEST_MS_MAX = 10_000;
/** Thousands of groups fit. It is parsed on the thread that serves. */
export const PROVIDER_RESPONSE_BYTES_MAX = 1024 * 1024;

/** Why a request to the identity provider was given up; the code may be logged. */
export class ProviderFetchError extends Error {
  override readonly name = "ProviderFetchError";
  readonly code: "insecure_url" | "timeout" | "response_too_large";

  constructor(code: ProviderFetchError["code"]) {
    super(code);
    this.code = code;
  }
}

export interface BoundedFetchOptions {
  /** Plain http, to loopback addresses only. */
  readonly allowHttp: boolean;
  readonly requestMsMax: number;
}

export interface BoundedRequest {
  readonly method: string;
  readonly headers: Record<string, string>;
  /** A form, or nothing: all that an identity provider is ever sent. */
  readonly body?: unknown;
}

/**
 * `fetch` for an identity provider that may be slow, broken or hostile: bounded in time and size, the body read before it
 * resolves, no redirect followed (RFC 9700, section 4.11: a redirect would carry the code and our secret elsewhere).
 * Throws a `ProviderFetchError`, or what `fetch` throws. Of the answer's headers only the type of its body is kept.
 */
export function createBoundedFetch({ allowHttp, requestMsMax }: BoundedFetchOptions) {
  return async (url: string, request: BoundedRequest): Promise<Response> => {
    checkProviderUrl(new URL(url), allowHttp);
    const cancellation = new AbortController();
    try {
      return await withinLimit(send(url, request, cancellation.signal), requestMsMax, () => {
        throw new ProviderFetchError("timeout");
      });
    } finally {
      // Closes the connection instead of reading the rest.
      cancellation.abort();
    }
  };
}

/** Throws `insecure_url` for what would send a secret or a browser in the clear to another machine. */
export function checkProviderUrl(url: URL, allowHttp: boolean): void {
  if (url.protocol === "https:") return;
  if (allowHttp && url.protocol === "http:" && isLoopback(url.hostname)) return;
  throw new ProviderFetchError("insecure_url");
}

async function send(
  url: string,
  { method, headers, body }: BoundedRequest,
  signal: AbortSignal,
): Promise<Response> {
  const response = await fetch(url, {
    method,
    headers: { ...headers, "accept-encoding": "identity" },
    body: body instanceof URLSearchParams ? body.toString() : null,
    // A few bytes could else become very many before the size is looked at.
    decompress: false,
    redirect: "manual",
    timeout: false,
    signal,
  });
  const bytes = await readBounded(response);
  const type = response.headers.get("content-type");
  return new Response(bytes, {
    status: response.status,
    headers: type === null ? {} : { "content-type": type },
  });
}

async function readBounded(response: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  if (response.body === null) return null;
  const body: ReadableStream<Uint8Array> = response.body;
  const reader = body.getReader();
  const chunks: Uint8Array[] = [];
  let sizeBytes = 0;
  for (let step = await reader.read(); !step.done; step = await reader.read()) {
    sizeBytes += step.value.byteLength;
    if (sizeBytes > PROVIDER_RESPONSE_BYTES_MAX) throw new ProviderFetchError("response_too_large");
    chunks.push(step.value);
  }
  const bytes = new Uint8Array(sizeBytes);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}
