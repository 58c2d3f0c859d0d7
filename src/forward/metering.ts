import { type MeterName, type EndpointName, toRow } from "#catalog/endpoint.ts";
import { DIALECTS, type ToldResponse } from "#usage/dialects.ts";
import { type Meter, type MeterReading, createMeter } from "#usage/meter.ts";
import { type Decoder, createDecoder, decodeShort, isPlain } from "./decode.ts";
import { SHORT_BODY_BYTES_MAX } from "./response-buffer.ts";
import type { UpstreamHead } from "./upstream.ts";
import { isPricedByRequestAlone } from "#usage/cost.ts";
import type { ModelPrices } from "#kernel/price-variants.ts";
import { type PriceSet, findUnitPrice } from "#kernel/units.ts";

/** Watches the bytes of one response, which go on as they are; of a compressed body the meter reads a decoded copy. */
export interface Metering {
  /** Null, or a promise to await before the next chunk, when decoding lags behind. Of a chunk over 16 KiB nothing is read later. */
  push(chunk: Uint8Array): Promise<void> | null;
  /** As the meter's; of a compressed body it may lag behind. */
  readonly awaitsUsage: boolean;
  /** As the meter's, of all that was pushed. A promise where a compressed body is still being decoded. */
  readonly response: ToldResponse | null | Promise<ToldResponse | null>;
  /** Called once, when no chunk comes any more, however the response ended. Never rejects. */
  finish(): MeterReading | Promise<MeterReading>;
}

/** True when the response itself is a stream of events: its content type decides, not the request. */
export function isEventStream({ contentType }: Pick<UpstreamHead, "contentType">): boolean {
  return contentType !== null && /^\s*text\/event-stream\s*(;|$)/i.test(contentType);
}

/** Its bytes would be searched for JSON to no end. */
function isMedia({ contentType }: Pick<UpstreamHead, "contentType">): boolean {
  return contentType !== null && /^\s*(audio|image|video)\//i.test(contentType);
}

/** For answers that tell no usage: audio, or plain text passed on as it comes. They are not collected for a meter in vain. */
const UNMETERED: Metering = {
  push: () => null,
  awaitsUsage: false,
  response: null,
  finish: () => ({ usage: null, errorKind: null, complete: false }),
};

/** A body that is passed on, and not buffered, is watched only if it is a stream of events. */
export function createMetering(head: UpstreamHead, meter: MeterName, passedOn: boolean): Metering {
  const streamed = isEventStream(head);
  if (!streamed && (passedOn || isMedia(head))) return UNMETERED;
  return watch(createMeter(DIALECTS[meter], { streamed, statusCode: head.response.status }), head);
}

/** Metering of a relayed response, which is never buffered: a stream of events, or JSON. `counting`: the call counts tokens and uses none. */
export function createRelayMetering(
  head: UpstreamHead,
  { counting }: { readonly counting: boolean },
): Metering {
  const streamed = isEventStream(head);
  if (!streamed && !/\bjson\b/i.test(head.contentType ?? "json")) return UNMETERED;
  const dialect = counting ? DIALECTS.counting : DIALECTS.messages;
  return watch(createMeter(dialect, { streamed, statusCode: head.response.status }), head);
}

function watch(meter: Meter, { contentEncoding, lengthBytes }: UpstreamHead): Metering {
  return contentEncoding === null || isPlain(contentEncoding)
    ? meter
    : new EncodedMetering(meter, { contentEncoding, lengthBytes });
}

interface EncodedBody {
  readonly contentEncoding: string;
  /** Null when it is not known. */
  readonly lengthBytes: number | null;
}

class EncodedMetering implements Metering {
  readonly #meter: Meter;
  readonly #body: EncodedBody;
  #isBegun = false;
  #decoder: Decoder | null = null;

  constructor(meter: Meter, body: EncodedBody) {
    this.#meter = meter;
    this.#body = body;
  }

  get awaitsUsage(): boolean {
    return this.#meter.awaitsUsage;
  }

  get response(): Promise<ToldResponse | null> {
    return this.#toResponse();
  }

  async #toResponse(): Promise<ToldResponse | null> {
    await this.#decoder?.caughtUp();
    return this.#meter.response;
  }

  push(chunk: Uint8Array): Promise<void> | null {
    if (!this.#isBegun && this.#begin(chunk)) return null;
    return this.#decoder?.push(chunk) ?? null;
  }

  /** True when the chunk was all of the body and has been read. */
  #begin(chunk: Uint8Array): boolean {
    this.#isBegun = true;
    const { contentEncoding, lengthBytes } = this.#body;
    const isShort = chunk.length === lengthBytes && lengthBytes <= SHORT_BODY_BYTES_MAX;
    const decoded = isShort ? decodeShort(contentEncoding, chunk) : null;
    if (decoded === null) this.#decoder = createDecoder(contentEncoding, (bytes) => this.#meter.push(bytes));
    else this.#meter.push(decoded);
    return decoded !== null;
  }

  finish(): MeterReading | Promise<MeterReading> {
    return this.#decoder === null ? this.#meter.finish() : this.#finishDecoding(this.#decoder);
  }

  async #finishDecoding(decoder: Decoder): Promise<MeterReading> {
    await decoder.finish();
    const reading = this.#meter.finish();
    // The usage that was read up to a limit is not all that the answer used.
    return decoder.isLimited ? { ...reading, usage: null, complete: false } : reading;
  }
}

/**
 * True when all that an answer of this endpoint will tell may have a price: the standard set, or that of some variant, whose
 * conditions only the answer tells. Other units, such as cached input, come with some answers only.
 */
export function hasPrices({ prices, variants }: ModelPrices, endpoint: EndpointName): boolean {
  return isWhole(prices, endpoint) || variants.some((variant) => isWhole(variant, endpoint));
}

function isWhole(prices: PriceSet, endpoint: EndpointName): boolean {
  return (
    isPricedByRequestAlone(prices) ||
    toRow(endpoint).tells.some((units) => units.every((unit) => findUnitPrice(prices, unit) !== null))
  );
}
