import { ProxyError } from "#kernel/errors.ts";
import { toCounted } from "#kernel/text.ts";
import type { CatalogFile, FileModel, ModelRoute } from "./catalog-file.ts";
import type { CatalogState, StateModel } from "./catalog-state.ts";
import { describePrices, describeRoute, type Change, type Note, type Plan } from "./plan.ts";
import { planProviders, type ProviderSecrets } from "./provider-plan.ts";
import { forecastPrices, type PriceForecast } from "./price-forecast.ts";

export interface ApplyOptions {
  /** What the file's references stand for, by provider. */
  readonly secrets: ReadonlyMap<string, ProviderSecrets>;
  /** Whether what the file does not have is removed. */
  readonly prune: boolean;
}

/**
 * What it takes to bring an installation to a file, in an order in which no step is refused. What the file does not have
 * stays unless `prune`; a stored API key or trust root always stays, since it could not be brought back.
 * Throws `invalid_target` when a name that stays points at a model that becomes a name itself, and the codes of a provider's
 * draft for a secret that is none.
 */
export function planApply(file: CatalogFile, state: CatalogState, { secrets, prune }: ApplyOptions): Plan {
  if (!prune) refusePinnedTargets(file, state);
  const providers = planProviders(file, state, secrets);
  const forecast = forecastPrices(file, state);
  const planModels = (kind: ModelRoute["kind"], isFirst: (before: StateModel | undefined) => boolean) =>
    [...file.models]
      .filter(([alias, { route }]) => route.kind === kind && isFirst(state.models.get(alias)))
      .flatMap(([alias, model]) => planModel(alias, model, { before: state.models.get(alias), forecast }));
  const removeModels = (kind: ModelRoute["kind"]) =>
    prune
      ? [...state.models].flatMap(([alias, { route }]) =>
          route.kind === kind && !file.models.has(alias) ? [removeModel(alias, route)] : [],
        )
      : [];

  const changes = [
    ...providers.changes,
    ...removeModels("name"),
    ...planModels("binding", () => true),
    // A binding becomes a name only when no name points at it any more.
    ...planModels("name", (before) => before?.route.kind !== "binding"),
    ...planModels("name", (before) => before?.route.kind === "binding"),
    ...removeModels("binding"),
    ...planFeeds(file, state, forecast),
    ...(prune ? providers.removals : []),
  ];
  return {
    changes,
    notes: [...providers.notes, ...(prune ? [] : listRest(file, state)), ...listPriceRest(file, state)],
  };
}

interface ModelContext {
  readonly before: StateModel | undefined;
  readonly forecast: PriceForecast;
}

function planModel(alias: string, model: FileModel, { before, forecast }: ModelContext): readonly Change[] {
  const { route, hidden, origin } = model;
  const pricing = forecast.write(alias, model);
  if (before === undefined) {
    const binding = route.kind === "binding" ? route : undefined;
    const target = route.kind === "name" ? route.target : undefined;
    const draft = {
      alias,
      provider: binding?.provider,
      upstreamName: binding?.upstreamName,
      capabilities: binding?.capabilities,
      target,
      hidden,
      origin,
      pricing,
    };
    const details = [
      describeRoute(route),
      ...(binding === undefined ? [] : [binding.capabilities.join(", ")]),
      ...(pricing === undefined ? [] : [describePrices(pricing)]),
      ...(hidden ? ["hidden"] : []),
    ];
    const steps = [{ kind: "create_model", draft }] as const;
    return [{ action: "add", subject: "model", name: alias, details, steps }];
  }
  const routed = planRoute(before.route, route);
  const details = [
    ...routed.details,
    ...(pricing === undefined
      ? []
      : [`prices: ${describePrices(before.prices)} -> ${describePrices(pricing)}`]),
    ...(hidden === before.hidden ? [] : [`hidden: ${before.hidden} -> ${hidden}`]),
  ];
  if (details.length === 0) return [];
  const patch = { ...routed.patch, pricing, hidden: hidden === before.hidden ? undefined : hidden };
  const steps = [{ kind: "update_model", alias, patch }] as const;
  return [{ action: "change", subject: "model", name: alias, details, steps }];
}

function planRoute(before: ModelRoute, after: ModelRoute) {
  if (after.kind === "name") {
    const isSame = before.kind === "name" && before.target === after.target;
    if (isSame) return { details: [], patch: {} };
    return { details: [toArrow(before, after)], patch: { target: after.target } };
  }
  const { provider, upstreamName, capabilities } = after;
  if (before.kind === "name") {
    return { details: [toArrow(before, after)], patch: { target: "", provider, upstreamName, capabilities } };
  }
  const moves = before.provider !== provider || before.upstreamName !== upstreamName;
  const isSameSet = before.capabilities.join() === capabilities.join();
  const was = before.capabilities.join(", ");
  return {
    details: [
      ...(moves ? [toArrow(before, after)] : []),
      ...(isSameSet ? [] : [`capabilities: ${was === "" ? "none" : was} -> ${capabilities.join(", ")}`]),
    ],
    patch: { ...(moves && { provider, upstreamName }), ...(!isSameSet && { capabilities }) },
  };
}

function toArrow(before: ModelRoute, after: ModelRoute): string {
  return `route: ${describeRoute(before)} => ${describeRoute(after)}`;
}

function removeModel(alias: string, route: ModelRoute): Change {
  const steps = [{ kind: "delete_model", alias }] as const;
  return { action: "remove", subject: "model", name: alias, details: [describeRoute(route)], steps };
}

/** A load of an interface answers within its limits for a body, and the server serves between two. */
const LOAD_ENTRIES_MAX = 5_000;

function planFeeds({ feeds }: CatalogFile, state: CatalogState, forecast: PriceForecast): readonly Change[] {
  const missing = feeds.map((feed) => ({ version: feed.version, rows: forecast.findMissing(feed) }));
  const newest = feeds.at(-1)?.version;
  const isNewestRight = newest === undefined || newest === state.feedVersion;
  if (isNewestRight && missing.every(({ rows }) => rows.length === 0)) return [];
  return missing.flatMap(({ version, rows }): Change[] => {
    // The newest is loaded last, also when all of its prices are there: it is what the installation says it has.
    if (rows.length === 0 && version !== newest) return [];
    const entries = rows.map(({ name, unit, pricePerMillion }) => ({
      model: name,
      unit,
      price_per_million: pricePerMillion,
    }));
    const loads = Math.max(1, Math.ceil(entries.length / LOAD_ENTRIES_MAX));
    const steps = Array.from({ length: loads }, (_, index) => {
      const from = index * LOAD_ENTRIES_MAX;
      return {
        kind: "load_feed" as const,
        feed: { version, entries: entries.slice(from, from + LOAD_ENTRIES_MAX) },
      };
    });
    const prices = toCounted(rows.length, "price");
    return [{ action: "change", subject: "feed", name: version, details: [prices], steps }];
  });
}

function refusePinnedTargets(file: CatalogFile, state: CatalogState): void {
  for (const [alias, { route }] of state.models) {
    if (route.kind !== "name" || file.models.has(alias)) continue;
    if (file.models.get(route.target)?.route.kind !== "name") continue;
    throw new ProxyError(
      "invalid_target",
      `${route.target} becomes a name for another model, but ${alias}, which the file does not have, points at it. Add ${alias} to the file, or remove with --prune what the file does not have.`,
    );
  }
}

/** What stays since nobody asked for its removal. */
function listRest(file: CatalogFile, state: CatalogState): readonly Note[] {
  const models = [...state.models.keys()].filter((alias) => !file.models.has(alias)).length;
  const providers = [...state.providers.keys()].filter((name) => !file.providers.has(name)).length;
  if (models + providers === 0) return [];
  const parts = [
    ...(providers === 0 ? [] : [toCounted(providers, "provider")]),
    ...(models === 0 ? [] : [toCounted(models, "model")]),
  ];
  return [
    {
      line: null,
      sentence: `The file does not have ${parts.join(" and ")} of this installation. They stay; --prune removes them.`,
    },
  ];
}

/** No interface takes a feed's price away; it can only be set anew. */
function listPriceRest(file: CatalogFile, state: CatalogState): readonly Note[] {
  const rest = state.prices.filter(
    ({ name, unit, version }) =>
      version !== null && file.feeds.every(({ prices }) => prices.get(name)?.[unit] === undefined),
  ).length;
  if (rest === 0) return [];
  const sentence = `${toCounted(rest, "price")} of feeds that the file does not have ${rest === 1 ? "stays" : "stay"}: a feed's price can be replaced, but not removed.`;
  return [{ line: null, sentence }];
}
