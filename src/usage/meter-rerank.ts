import { type JsonObject, isJsonObject } from "./json.ts";
import { type Meter, type MeterDialect, type MeterOptions, createMeter, createTelling } from "./meter.ts";

/** Rerank is never streamed: an event of a stream tells its error alone. */
const RERANK: MeterDialect = {
  addUsage(body, accumulator) {
    // `ApiMetaBilledUnits` and `ApiMetaTokens` of cohere-ai 8.1. Voyage and Jina tell `usage.total_tokens`, all of it input.
    const meta = toObject(body["meta"]);
    if (accumulator.addQuantity("search_units", toObject(meta["billed_units"])["search_units"])) return;
    if (accumulator.addQuantity("input_tokens", toObject(body["usage"])["total_tokens"])) return;
    accumulator.addQuantity("input_tokens", toObject(meta["tokens"])["input_tokens"]);
  },
  addEventUsage: () => false,
  endsAnswer: () => false,
  isLast: () => false,
  defaultsToExclusive: false,
  telling: createTelling(),
};

/** A meter for one answer of rerank. */
export function createRerankMeter(options: MeterOptions): Meter {
  return createMeter(RERANK, options);
}

const NOTHING: JsonObject = {};

function toObject(value: unknown): JsonObject {
  return isJsonObject(value) ? value : NOTHING;
}
