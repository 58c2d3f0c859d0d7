import type { Endpoint } from "#catalog/endpoint.ts";
import { findMissedUnits } from "#catalog/missed-prices.ts";
import type { DiscoveredModels, TestedProvider } from "#catalog/discovery.ts";
import { toPricingView, toVariantFields } from "#catalog/price-fields.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import type { Provider } from "#catalog/provider.ts";
import { upstreamUrl } from "#catalog/resolve.ts";
import type { ResolvedModel } from "#catalog/snapshot.ts";
import { formatInstant } from "#kernel/clock.ts";
import { toFieldsView } from "#kernel/fields.ts";

/** Providers and models → wire JSON, in the spelling of specification sections 2.3 to 2.6; one function per resource. */

/** A provider as lists show it, without `endpoints`. */
export function toProviderView(provider: Provider) {
  return {
    name: provider.name,
    wire_format: provider.wireFormat,
    base_url: provider.baseUrl,
    has_credential: provider.sealedCredential !== null,
    ...toFieldsView(PROVIDER_SETTINGS, provider),
    ...((provider.credentialSetAtUs ?? null) !== null && {
      credential_set_at: formatInstant(provider.credentialSetAtUs ?? 0),
    }),
    ...((provider.formerUntilUs ?? null) !== null && {
      former_credential_until: formatInstant(provider.formerUntilUs ?? 0),
    }),
    enabled: provider.enabled,
    created_at: formatInstant(provider.createdAtUs),
  };
}

export function toSingleProviderView(provider: Provider) {
  return { ...toProviderView(provider), endpoints: provider.endpoints };
}

export function toModelView(resolved: ResolvedModel) {
  const { model } = resolved;
  return {
    alias: model.alias,
    provider: resolved.provider.name,
    upstream_name: resolved.upstreamName,
    capabilities: resolved.capabilities,
    origin: model.origin,
    created_at: formatInstant(model.createdAtUs),
    target: toTarget(resolved),
    pricing: toPricingView(resolved.prices),
    ...toVariantFields(resolved.variants),
    pricing_inherited: resolved.pricesInherited,
    hidden: model.hidden,
  };
}

/** Says as well which prices a model lacks; a name lacks none that its target does not. */
export function toUnpricedModelView(resolved: ResolvedModel) {
  const shown = toModelView(resolved);
  return { ...shown, unpriced_units: shown.target === null ? findMissedUnits(shown) : [] };
}

/** `ResolveResult` (section 2.4): what a request of this endpoint would call. */
export function toResolveView(resolved: ResolvedModel, endpoint: Endpoint) {
  return {
    alias: resolved.model.alias,
    provider: resolved.provider.name,
    upstream_name: resolved.upstreamName,
    url: upstreamUrl(resolved.provider, endpoint),
    capabilities: resolved.capabilities,
  };
}

interface ModelListOptions {
  readonly includePricing: boolean;
  /** Adds what Anthropic's clients read (`ModelInfo` and `Page` of @anthropic-ai/sdk 1.12). */
  readonly forAnthropic: boolean;
}

/** `GET /v1/models` (section 2.5, and endpoints): all of the models, on one page. */
export function toModelListView(models: readonly ResolvedModel[], options: ModelListOptions) {
  return {
    object: "list" as const,
    data: models.map((resolved) => toModelListEntry(resolved, options)),
    ...(options.forAnthropic && {
      has_more: false as const,
      first_id: models.at(0)?.model.alias ?? null,
      last_id: models.at(-1)?.model.alias ?? null,
    }),
  };
}

function toModelListEntry(resolved: ResolvedModel, { includePricing, forAnthropic }: ModelListOptions) {
  const { model } = resolved;
  return {
    id: model.alias,
    object: "model" as const,
    created: Math.floor(model.createdAtUs / 1_000_000),
    owned_by: resolved.provider.name,
    capabilities: resolved.capabilities,
    alias_of: toTarget(resolved),
    hidden: model.hidden,
    ...(includePricing && {
      pricing: toPricingView(resolved.prices),
      ...toVariantFields(resolved.variants),
      pricing_inherited: resolved.pricesInherited,
    }),
    ...(forAnthropic && {
      type: "model" as const,
      display_name: model.alias,
      // Whole seconds, as Anthropic has them.
      created_at: `${formatInstant(model.createdAtUs).slice(0, "YYYY-MM-DDTHH:MM:SS".length)}Z`,
    }),
  };
}

/** Section 2.6. A name for another model shows where it leads; the credential is never included. */
export function toDeploymentView({ model, provider, upstreamName }: ResolvedModel) {
  return {
    model_name: model.alias,
    compat_params: {
      model: upstreamName,
      api_base: provider.baseUrl,
      custom_llm_provider: "openai" as const,
    },
    model_info: { id: model.id },
  };
}

/** `includeCapabilities` adds what each would be bound as to the specification's two fields. */
export function toDiscoveredModelsView(
  { provider, discoveredAtUs, models }: DiscoveredModels,
  options: { readonly includeCapabilities: boolean },
) {
  return {
    provider,
    discovered_at: formatInstant(discoveredAtUs),
    models: models.map(({ upstreamName, boundAlias, guess }) => ({
      upstream_name: upstreamName,
      bound_alias: boundAlias,
      ...(options.includeCapabilities && {
        kind: guess.kind,
        capabilities: guess.capabilities,
        guessed_from: guess.from,
      }),
    })),
  };
}

export function toTestedProviderView(tested: TestedProvider) {
  return {
    ...toDiscoveredModelsView(tested, { includeCapabilities: true }),
    ...(tested.isCredentialChecked !== null && { credential_checked: tested.isCredentialChecked }),
  };
}

/** The name that a model stands for; null when it routes itself. */
function toTarget({ model, bound }: ResolvedModel): string | null {
  return model.route.kind === "name" ? bound.alias : null;
}
