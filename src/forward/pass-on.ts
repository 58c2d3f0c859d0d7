import type { Cancellation } from "#kernel/cancellation.ts";
import { free } from "#kernel/bytes.ts";
import type { MeterReading } from "#usage/meter.ts";
import { type Metering, isEventStream } from "./metering.ts";
import type { ProxiedRequest, ResponseWatch } from "./proxied-request.ts";
import {
  type ForwardResult,
  finishMetering,
  giveUp,
  isPending,
  settleWhole,
  toBreach,
  toCallerResponse,
} from "./request-end.ts";
import { SHORT_BODY_BYTES_MAX } from "./response-buffer.ts";
import {
  type BodyReader,
  type TeeEnding,
  type TeeOptions,
  WRITE_STALL_MS_MAX,
  createTee,
  readChunk,
  type SlowConsumers,
} from "./tee.ts";
import type { UpstreamHead, WarmConnections } from "./upstream.ts";

/** A meter may keep a shorter chunk of what is no stream of events; such ones are left to the collection of garbage. */
const FREED_BYTES_MIN = 32 * 1024;
/**
 * What waits for its next event when garbage is collected is kept until a full collection, and that event with it. The bytes of
 * a shorter one stand among the engine's own cells, and are no memory that could be freed.
 */
const FREED_EVENT_BYTES_MIN = 1_001;

/** Passes a body on from its first byte. Until then nothing was sent, and any failure is still a clean 502. */
export async function passOn(
  request: ProxiedRequest,
  head: UpstreamHead,
  metering: Metering,
): Promise<ForwardResult> {
  const { cancellation } = request;
  const reader = head.response.body?.getReader() ?? null;
  cancellation.arm(request.terms.idleMs);
  let first: Uint8Array | null;
  let isWhole: boolean;
  try {
    first = reader === null ? null : await readChunk(reader);
    isWhole =
      reader === null || first === null || (isWholeIn(head, first) && (await readChunk(reader)) === null);
  } catch {
    return giveUp(request, toBreach(cancellation));
  }
  if (first !== null) request.firstByte();
  if (reader === null || first === null || isWhole) {
    const lagging = first === null ? null : metering.push(first);
    if (lagging !== null) await lagging;
    await request.requests.ends.next();
    head.readToEnd();
    cancellation.checkCaller();
    cancellation.release();
    await settleWhole(request, metering);
    return { kind: "responded", response: toCallerResponse(head, request, first) };
  }
  const body = createTee(new PassedOn(request, { reader, first, metering, head }));
  return { kind: "responded", response: toCallerResponse(head, request, body) };
}

/** A short unary answer that came in one piece tells its cost in its head: it need not be passed on before its end. */
function isWholeIn(head: UpstreamHead, { length }: Uint8Array): boolean {
  return length === head.lengthBytes && length <= SHORT_BODY_BYTES_MAX && !isEventStream(head);
}

interface PassedBody {
  readonly reader: BodyReader;
  readonly first: Uint8Array;
  readonly metering: Metering;
  readonly head: UpstreamHead;
}

/**
 * The part of its exchange that an open stream keeps. The head is not among it: the upstream's response and its headers can go as
 * soon as they have been passed on, while the stream may last for hours.
 */
class PassedOn implements TeeOptions {
  readonly reader: BodyReader;
  first: Uint8Array | null;
  readonly cancellation: Cancellation;
  readonly idleMs: number;
  readonly stallMs = WRITE_STALL_MS_MAX;
  readonly stalls: SlowConsumers;
  readonly principalId: string;
  readonly #request: ProxiedRequest;
  readonly #metering: Metering;
  readonly #responses: ResponseWatch | null;
  readonly #warm: WarmConnections | null;
  readonly #isEventStream: boolean;
  #hasReadOn = false;

  constructor(request: ProxiedRequest, { reader, first, metering, head }: PassedBody) {
    this.reader = reader;
    this.first = first;
    this.cancellation = request.cancellation;
    this.idleMs = request.terms.idleMs;
    this.stalls = request.requests.stalls;
    this.principalId = request.principalId;
    this.#request = request;
    this.#metering = metering;
    this.#responses = request.responses;
    this.#warm = head.warm;
    this.#isEventStream = isEventStream(head);
  }

  watch(chunk: Uint8Array): Promise<void> | null {
    const lagging = this.#metering.push(chunk);
    return this.#responses === null || this.#responses.hasHeard
      ? lagging
      : this.#hear(this.#responses, lagging);
  }

  /** Holds back the bytes that complete the event which tells an id: a reader of the stream has none of it before. */
  async #hear(responses: ResponseWatch, lagging: Promise<void> | null): Promise<void> {
    if (lagging !== null) await lagging;
    const response = await this.#metering.response;
    if (response !== null) await responses.told(response);
  }

  awaitsRest(): boolean {
    const awaits = this.#metering.awaitsUsage;
    // Asked for the first time when the caller has gone.
    this.#hasReadOn ||= awaits;
    return awaits;
  }

  left(chunk: Uint8Array): void {
    const bytesMin = this.#isEventStream ? FREED_EVENT_BYTES_MIN : FREED_BYTES_MIN;
    free(chunk, bytesMin);
  }

  async finish(ending: TeeEnding): Promise<void> {
    await this.#request.requests.ends.next();
    const metered = await finishMetering(this.#metering, this.#responses);
    if (ending === "complete") this.#warm?.put();
    if (ending === "complete" || isPending(metered)) {
      await this.#request.settle({ kind: "answered", metered });
    } else if (ending === "cancelled") {
      await this.#request.settle({ kind: "cancelled", metered: this.#toSeen(metered) });
    } else {
      await this.#request.settle({ kind: "unreachable", ...toBreach(this.cancellation), metered });
    }
  }

  /** The reading at the moment when the caller left: of what was read afterwards only the usage counts. */
  #toSeen(metered: MeterReading): MeterReading {
    if (this.#hasReadOn) return { ...metered, errorKind: null, complete: false };
    // A body that is no event stream has no last event: only its end tells that the caller had all of it.
    return { ...metered, complete: metered.complete && this.#isEventStream };
  }
}
