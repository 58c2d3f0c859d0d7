import { FEED_BODY_BYTES_MAX } from "#catalog/feed.ts";
import type { Catalog } from "#catalog/catalog.ts";
import { previewPrices, type PriceDraft } from "#catalog/price-preview.ts";
import { json, route } from "#http/door/route.ts";
import { toReportOptions, type Asking } from "./report.ts";
import { PricePreview } from "#http/schemas/catalog.ts";
import { INSTANT, MODEL, PRICING } from "#http/schemas/examples.ts";
import { PricePreviewRequest } from "#http/schemas/requests.ts";
import { type Clock, DAY_US } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { filterBy, type ProviderIds } from "#stats/filter.ts";
import type { StatsStore } from "#stats/store.ts";
import { toRequestBounds } from "#stats/what-if.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { type RepricedUse, toPricePreviewView } from "#views/price-preview.ts";

export interface PricingPreviewDeps {
  readonly catalog: Catalog;
  readonly clock: Pick<Clock, "nowUs">;
  readonly stats: Pick<StatsStore, "readModelUse">;
}

const DAYS = 30;
/** A price that more inherit is one of a large feed, whose difference the page shows by name. */
const NAMES_MAX = 50;

const NOT_RELAYED: ProviderIds = { include: null, exclude: [RELAY_PROVIDER] };
const RELAYED: ProviderIds = { include: [RELAY_PROVIDER], exclude: [] };

type Repriced = Omit<RepricedUse, "use">;

/** The consequences of a change of prices: who has them, and what the last 30 days would have cost. */
export function pricingPreviewRoutes({ catalog, clock, stats }: PricingPreviewDeps) {
  /** What was used under the names of one kind, by tier and region. */
  const readUses = async (
    names: readonly Repriced[],
    kind: Repriced["kind"],
    nowUs: number,
    asking: Asking,
  ) => {
    const models = names.flatMap((named) => (named.kind === kind ? [named.name] : []));
    if (models.length === 0) return [];
    const window = { sinceUs: nowUs - DAYS * DAY_US, untilUs: nowUs };
    const providers = kind === "relay" ? RELAYED : NOT_RELAYED;
    const query = { window, filter: filterBy({ models }), providers, principalId: null, nowUs } as const;
    const bounds = toRequestBounds(names.flatMap(({ before, after }) => [before, after]));
    return (await stats.readModelUse({ ...query, bounds }, toReportOptions(asking))).uses;
  };
  return [
    route({
      method: "POST",
      path: "/admin/v1/pricing/preview",
      tag: "Catalog",
      access: "admin",
      summary: "What a change of prices would mean; nothing is changed",
      description:
        "The names whose prices in force would change, those that inherit included, and what the requests of the last 30 days cost as recorded, at the prices of now and at the new ones. The same quantities at other prices, no forecast; a unit without a price is named, never counted as zero. Each request is priced by its tier, region, length and hour. Of more than 200,000 requests, and where retention has removed rows, sums of a tier and region are priced: variants that depend on a request's length or hour are then left out, and named in `conditions_left_out`.",
      body: PricePreviewRequest,
      bodyBytesMax: FEED_BODY_BYTES_MAX,
      example: { model: MODEL.alias, pricing: { input_tokens: 5 } },
      answer: json(200, PricePreview, {
        since: INSTANT,
        until: INSTANT,
        names: [
          {
            name: MODEL.alias,
            kind: "model",
            target: null,
            pricing_before: PRICING,
            pricing_after: { input_tokens: 5 },
            requests: 0,
            cost: null,
            cost_before: null,
            cost_after: null,
            unpriced_before: [],
            unpriced_after: [],
            cache_writes_as_input: false,
          },
        ],
        truncated: false,
      }),
      errors: ["invalid_pricing", "invalid_price_variants", "model_not_found", "reports_busy"],
      run: async ({ body, request, caller }) => {
        const preview = previewPrices(await catalog.snapshot(), toDraft(body));
        const names = [
          ...preview.models.map(({ before, after }): Repriced => ({
            name: before.model.alias,
            kind: "model",
            target: before.model.route.kind === "name" ? before.bound.alias : null,
            before,
            after,
          })),
          ...preview.names.map(({ name, before, after }): Repriced => ({
            name,
            kind: "relay",
            target: null,
            before,
            after,
          })),
        ];
        const nowUs = clock.nowUs();
        const told: RepricedUse[] = [];
        const asked = names.slice(0, NAMES_MAX);
        const asking = { request, caller };
        const uses = {
          model: await readUses(asked, "model", nowUs, asking),
          relay: await readUses(asked, "relay", nowUs, asking),
        };
        for (const name of asked) {
          const use = uses[name.kind].filter(({ model }) => model === name.name);
          // Hardly any name is one of the relay's as well.
          if (name.kind === "model" || use.some(({ requests }) => requests > 0)) told.push({ ...name, use });
        }
        const window = { sinceUs: nowUs - DAYS * DAY_US, untilUs: nowUs };
        return toPricePreviewView(told, { ...window, truncated: names.length > NAMES_MAX });
      },
    }),
  ] as const;
}

function toDraft(body: typeof PricePreviewRequest.static): PriceDraft {
  const { model, pricing, price_variants: priceVariants, entries, removed } = body;
  const isPriced = pricing !== undefined || priceVariants !== undefined;
  if (entries !== undefined && model === undefined && !isPriced) return { kind: "feed", entries, removed };
  if (entries === undefined && removed === undefined && model !== undefined && isPriced)
    return { kind: "model", alias: model, pricing, priceVariants };
  throw new ProxyError(
    "invalid_request",
    "Send model with pricing or price_variants, or entries without model.",
    {
      param: "model",
    },
  );
}
