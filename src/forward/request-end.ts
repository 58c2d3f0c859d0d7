import type { Cancellation } from "#kernel/cancellation.ts";
import type { ProxyError } from "#kernel/errors.ts";
import { picoToDecimal } from "#kernel/units.ts";
import { NOTHING_USED, type TransportError } from "#usage/event.ts";
import type { MeterReading } from "#usage/meter.ts";
import { toCallerHeaders } from "./headers.ts";
import type { Metering } from "./metering.ts";
import type { ProxiedRequest, ResponseWatch } from "./proxied-request.ts";
import type { Breach, UpstreamHead } from "./upstream.ts";

/** The end of a request, as the caller's connection is to be told. */
export type ForwardResult =
  | { readonly kind: "responded"; readonly response: Response }
  /** The upstream gave no answer that could be relayed: a 502 that names `error`. */
  | {
      readonly kind: "unreachable";
      readonly error: TransportError;
      readonly provider: string;
      readonly upstreamName: string | null;
    }
  /** Its body was refused on its way up, and it has its usage event. */
  | { readonly kind: "refused"; readonly refusal: ProxyError }
  /** The caller has gone: there is no one left to answer. */
  | { readonly kind: "cancelled" };

/** The reading of a request that never went upstream. */
export const NEVER_SENT: MeterReading = { usage: NOTHING_USED, errorKind: null, complete: false };

/** Ends an exchange of which nothing was answered: its caller left, or its upstream failed. */
export async function giveUp(
  request: ProxiedRequest,
  breach: Breach,
  metered: MeterReading | null = null,
): Promise<ForwardResult> {
  const { cancellation, terms } = request;
  cancellation.checkCaller();
  const { cause } = cancellation;
  const left = cause === "cancelled";
  const broke = cause === "halted" ? toBreach(cancellation) : breach;
  cancellation.cancel("cancelled");
  await request.settle(
    left
      ? { kind: "cancelled", metered }
      : { kind: "unreachable", error: broke.error, failure: broke.failure, metered },
  );
  if (left) return { kind: "cancelled" };
  return {
    kind: "unreachable",
    error: broke.error,
    provider: terms.providerName,
    upstreamName: terms.upstreamName,
  };
}

/** Closes the connection of a request that a bug has broken off, and accounts for it: it was begun. */
export async function breakOff(request: ProxiedRequest): Promise<void> {
  request.cancellation.cancel("cancelled");
  await request.settle({ kind: "unreachable", error: "connection_error", metered: null });
}

/** Settles a request whose response has come whole. A caller that hung up meanwhile has had nothing of it. */
export function settleWhole(request: ProxiedRequest, metering: Metering): Promise<void> {
  const metered = finishMetering(metering, request.responses);
  return metered instanceof Promise ? settleLater(request, metered) : settleMetered(request, metered);
}

async function settleLater(request: ProxiedRequest, metering: Promise<MeterReading>): Promise<void> {
  await settleMetered(request, await metering);
}

/** The reading of an answer of which no more comes, as its usage event has it. */
export function finishMetering(
  metering: Metering,
  responses: ResponseWatch | null,
): MeterReading | Promise<MeterReading> {
  const metered = metering.finish();
  return responses === null ? metered : tellEnded(responses, metered);
}

async function tellEnded(
  responses: ResponseWatch,
  metering: MeterReading | Promise<MeterReading>,
): Promise<MeterReading> {
  return await responses.ended(await metering);
}

/** Its upstream works on, whatever becomes of the answer: what it comes to is told later. */
export function isPending({ usage }: MeterReading): boolean {
  return usage?.shape === "pending";
}

function settleMetered(request: ProxiedRequest, metered: MeterReading): Promise<void> {
  return request.settle(
    request.cancellation.cause === "cancelled" && !isPending(metered)
      ? { kind: "cancelled", metered: { ...metered, complete: false } }
      : { kind: "answered", metered },
  );
}

const INTERRUPTED: Breach = { error: "interrupted" };
const SILENT: Breach = { error: "timeout", failure: "read_timeout" };
const BROKEN: Breach = { error: "connection_error", failure: "reset" };

/** Why an answer broke off behind its head. */
export function toBreach({ cause }: Cancellation): Breach {
  if (cause === "halted") return INTERRUPTED;
  return cause === "timeout" ? SILENT : BROKEN;
}

/** Statuses without a body: a `Response` refuses one (RFC 9110, sections 15.3.5, 15.3.6 and 15.4.5). */
const NULL_BODY_STATUSES: ReadonlySet<number> = new Set([204, 205, 304]);

/**
 * The caller's response: the upstream's status and body, and those of its headers that cross the proxy. It tells the cost of a
 * request that is settled.
 */
export function toCallerResponse(
  head: UpstreamHead,
  request: ProxiedRequest,
  body: Uint8Array | ReadableStream<Uint8Array> | null,
): Response {
  const { status } = head.response;
  const headers = toCallerHeaders(head.headers, status, request);
  const { toldCostPico } = request;
  if (toldCostPico !== null) headers.set("x-proxy-cost", picoToDecimal(toldCostPico));
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
