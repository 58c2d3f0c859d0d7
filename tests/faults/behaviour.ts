import type { UpstreamCall } from "../support/upstream.ts";
import { toWhole, type Endpoint, type Parts, type Units } from "./endpoints.ts";

export type UpstreamError = "connection_error" | "timeout" | "response_too_large";

/** What a caller is to get, and what is to be recorded of it. */
export type Expected =
  /** A clean 502 that names the error. */
  | { readonly kind: "refused"; readonly error: UpstreamError }
  /** A 200 whose connection is broken off, never ended cleanly; a clean 502 where nothing of it had gone out. */
  | { readonly kind: "broken"; readonly error: UpstreamError }
  /** The upstream's answer, byte by byte. */
  | {
      readonly kind: "passed";
      readonly status: number;
      readonly body: string;
      readonly outcome: "ok" | "upstream_error";
      readonly errorKind: string | null;
      readonly units: Units | null;
    }
  /** It has no end: the caller leaves after a while, and so does the proxy. */
  | { readonly kind: "left" };

/** Which of the provider's limits an answer waits for; null: for none. */
export type Limit = "connect" | "read" | null;

/** A way in which an upstream answers a request. */
export interface Behaviour {
  readonly name: string;
  readonly play: (call: UpstreamCall, parts: Parts) => unknown;
  readonly expect: (endpoint: Endpoint) => Expected;
  readonly limit?: (endpoint: Endpoint) => Limit;
  /** It moves megabytes, or many pieces: one endpoint of each kind has it. */
  readonly isDear?: true;
}

export const refused =
  (error: UpstreamError = "connection_error") =>
  (): Expected => ({ kind: "refused", error });

/** After bytes have gone to the caller of a stream. */
export const brokenOff =
  (error: UpstreamError = "connection_error") =>
  ({ isHeld }: Endpoint): Expected => ({ kind: isHeld ? "refused" : "broken", error });

export interface Passing {
  readonly status?: number;
  readonly body?: (parts: Parts) => string;
  readonly errorKind?: string;
  readonly units?: (parts: Parts) => Units | null;
}

/** Whatever it is, it is passed on as it came. */
export const passed =
  ({ status = 200, body = toWhole, errorKind, units = (parts) => parts.units }: Passing = {}) =>
  ({ parts }: Endpoint): Expected => ({
    kind: "passed",
    status,
    body: body(parts),
    outcome: errorKind === undefined ? "ok" : "upstream_error",
    errorKind: errorKind ?? null,
    units: units(parts),
  });

export const nothingMetered = () => null;

/** The head of an answer in chunks, of the type that belongs to the endpoint. */
export const begin = (call: UpstreamCall, { type }: Parts, ...headers: readonly string[]) =>
  call.beginStream([`content-type: ${type}`, ...headers]);

/** A whole answer in these chunks. */
export async function sendInChunks(call: UpstreamCall, parts: Parts, chunks: Iterable<string | Uint8Array>) {
  await begin(call, parts);
  for (const chunk of chunks) if (!(await call.sendChunk(chunk))) return;
  await call.endStream();
}
