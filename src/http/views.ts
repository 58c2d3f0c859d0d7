import type { AuditEvent } from "#audit/event.ts";
import type { DiscoveredModels } from "#catalog/discovery.ts";
import type { Provider } from "#catalog/provider.ts";
import type { ResolvedModel } from "#catalog/snapshot.ts";
import type { ApiKey } from "#identity/key.ts";
import type { Principal } from "#identity/principal.ts";
import type { RelayToken } from "#identity/relay-token.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { toPricePerMillion, UNITS, type PriceSet, type Unit } from "#kernel/units.ts";

/** Domain → wire JSON, in the spelling of specification section 2; one function per resource. */

/** As lists show it, without `endpoints`. */
export function toProviderView(provider: Provider) {
  return {
    name: provider.name,
    wire_format: provider.wireFormat,
    base_url: provider.baseUrl,
    has_credential: provider.sealedCredential !== null,
    verify_tls: provider.verifyTls,
    has_custom_ca: provider.caPem !== null,
    timeout_connect: provider.timeoutConnectSeconds,
    timeout_read: provider.timeoutReadSeconds,
    max_concurrency: provider.maxConcurrency,
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
    pricing_inherited: resolved.pricesInherited,
    hidden: model.hidden,
  };
}

/** An entry of `GET /v1/models` (section 2.5). */
export function toModelListEntry(resolved: ResolvedModel, options: { readonly includePricing: boolean }) {
  const { model } = resolved;
  return {
    id: model.alias,
    object: "model",
    created: Math.floor(model.createdAtUs / 1_000_000),
    owned_by: resolved.provider.name,
    capabilities: resolved.capabilities,
    alias_of: toTarget(resolved),
    hidden: model.hidden,
    ...(options.includePricing && {
      pricing: toPricingView(resolved.prices),
      pricing_inherited: resolved.pricesInherited,
    }),
  };
}

/** Section 2.6. A name for another model shows where it leads; the credential is never included. */
export function toDeploymentView({ model, provider, upstreamName }: ResolvedModel) {
  return {
    model_name: model.alias,
    compat_params: { model: upstreamName, api_base: provider.baseUrl, custom_llm_provider: "openai" },
    model_info: { id: model.id },
  };
}

export function toDiscoveredModelsView({ provider, discoveredAtUs, models }: DiscoveredModels) {
  return {
    provider,
    discovered_at: formatInstant(discoveredAtUs),
    models: models.map(({ upstreamName, boundAlias }) => ({
      upstream_name: upstreamName,
      bound_alias: boundAlias,
    })),
  };
}

export function toKeyView(key: ApiKey, lastUsedAtUs: InstantUs | null) {
  return {
    id: key.id,
    key_suffix: key.suffix,
    label: key.label,
    created_at: formatInstant(key.createdAtUs),
    last_used_at: lastUsedAtUs === null ? null : formatInstant(lastUsedAtUs),
  };
}

/** A key with its owner's name, for lists that span principals. */
export function toOwnedKeyView(key: ApiKey, ownerName: string, lastUsedAtUs: InstantUs | null) {
  return { ...toKeyView(key, lastUsedAtUs), principal: ownerName };
}

export function toRelayTokenView(token: RelayToken, lastUsedAtUs: InstantUs | null) {
  return {
    id: token.id,
    token_suffix: token.suffix,
    label: token.label,
    created_at: formatInstant(token.createdAtUs),
    last_used_at: lastUsedAtUs === null ? null : formatInstant(lastUsedAtUs),
  };
}

/** A relay token with its owner's name, for lists that span principals. */
export function toOwnedRelayTokenView(token: RelayToken, ownerName: string, lastUsedAtUs: InstantUs | null) {
  return { ...toRelayTokenView(token, lastUsedAtUs), principal: ownerName };
}

/** Section 2.8: what a create answers. */
export function toPrincipalView({ id, name, kind, role }: Principal) {
  return { id, name, kind, role };
}

/** A row of the list; one that is disabled says so. */
export function toListedPrincipalView(principal: Principal) {
  return {
    ...toPrincipalView(principal),
    created_at: formatInstant(principal.createdAtUs),
    ...(principal.enabled ? {} : { enabled: false }),
  };
}

/** What a change of role or of being enabled answers. */
export function toChangedPrincipalView(principal: Principal) {
  return { ...toListedPrincipalView(principal), enabled: principal.enabled };
}

export function toAdminEventView(event: AuditEvent) {
  return {
    ts: formatInstant(event.atUs),
    actor_principal_id: event.actorPrincipalId,
    actor: event.actorName,
    action: event.action,
    target_kind: event.targetKind,
    target_ref: event.targetRef,
  };
}

/** Per million units; units without a price are left out. */
function toPricingView(prices: PriceSet) {
  const view: { [unit in Unit]?: number } = {};
  for (const unit of UNITS) {
    const price = prices[unit];
    if (price !== undefined && price !== null) view[unit] = toPricePerMillion(price);
  }
  return view;
}

/** The name that a model stands for; null when it routes itself. */
function toTarget({ model, bound }: ResolvedModel): string | null {
  return model.route.kind === "name" ? bound.alias : null;
}
