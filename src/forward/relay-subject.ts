import type { Caller } from "#kernel/cancellation.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { InstantUs } from "#kernel/clock.ts";
import { truncateCodePoints } from "#kernel/text.ts";
import { type PriceSet, byUnit, UNITS } from "#kernel/units.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import type { AccountSubject } from "./account.ts";
import { toAttribution } from "./attribution.ts";
import { type Asked, toModelName } from "./relay-body.ts";
import type { UpstreamBody } from "./upstream.ts";

/** A request of the relay, ready to go upstream. */
export interface RelayInput {
  readonly method: string;
  /** What follows the token, as it came: begins with a slash, and holds neither query nor dot segments. */
  readonly path: string;
  /** The query as it came, with its question mark; empty when there was none. */
  readonly query: string;
  /** The relay token, which no forwarded header may carry. */
  readonly token: string;
  readonly caller: {
    readonly principalId: string;
    readonly principalName: string;
    readonly relayTokenId: string;
    readonly fixedTags: readonly string[];
  };
  readonly headers: Headers;
  readonly body: UpstreamBody;
  readonly arrivedAtUs: InstantUs;
  readonly arrivedAtMs: number;
  /** The connection that the request came by. */
  readonly connection: Caller;
}

/** Limit of a usage event's endpoint, in code points. Longer than any path of the API. */
export const ENDPOINT_LENGTH_MAX = 256;

/** The subject of a relayed request, with the prices that hold for it. */
export function toAccountSubject(
  input: RelayInput,
  { model, streamed }: Pick<Asked, "model" | "streamed">,
): AccountSubject {
  const { caller, headers } = input;
  return {
    subject: {
      arrivedAtUs: input.arrivedAtUs,
      principalId: caller.principalId,
      principalName: caller.principalName,
      keyId: null,
      relayTokenId: caller.relayTokenId,
      providerId: RELAY_PROVIDER,
      model,
      upstreamName: model,
      endpoint: truncateCodePoints(input.path, ENDPOINT_LENGTH_MAX),
      ...toAttribution(headers, caller.fixedTags),
      streamed,
    },
    providerName: RELAY_PROVIDER,
    usesNothing: !isMetered(input),
    pricing: { known: {}, findIn: (catalog) => (model === null ? null : findPrices(catalog, model)) },
    ...(model === null && {
      named: (told: string) => {
        const name = toModelName(told);
        return name === null ? null : toAccountSubject(input, { model: name, streamed });
      },
    }),
  };
}

/** Answers of these paths count tokens and use none: of the messages and of the responses API. */
const COUNTING_PATH = /\/(?:messages\/count_tokens|responses\/input_tokens)\/?$/;

/** Claude Code sends its telemetry to wherever it sends messages. */
const TELEMETRY_PATH = /^\/api\/event_logging\//;

export function isCounting({ path }: Pick<RelayInput, "path">): boolean {
  return COUNTING_PATH.test(path);
}

/** Whether it uses something, on whatever endpoint: one that no meter knows must not pass unseen. */
export function isMetered({ method, path }: Pick<RelayInput, "method" | "path">): boolean {
  return method !== "GET" && method !== "DELETE" && !isCounting({ path }) && !TELEMETRY_PATH.test(path);
}

/** Relayed models are in no catalog: a price is whatever is kept under exactly this name. */
function findPrices(catalog: CatalogSnapshot, model: string): PriceSet {
  return byUnit(UNITS, (unit) => catalog.findPrice(model, unit)?.pricePico ?? undefined);
}
