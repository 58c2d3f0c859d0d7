import { type Actor, type AuditAction, type AuditEntry, toAuditEntry } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import {
  findCredential,
  findFormer,
  isBoundAlike,
  NO_FORMER,
  rebindCredential,
  sealCredential,
  sealFormer,
  toProviderNotFound,
  type Provider,
  type ParsedProviderPatch,
  type ProviderDraft,
  type ProviderPatch,
  parseProviderDraft,
  parseProviderPatch,
} from "./provider.ts";
import { toModelEntry } from "./model-plan.ts";
import type { Model } from "./model.ts";
import { planPriceRemoval } from "./price-plan.ts";
import type { CatalogPicture } from "./snapshot.ts";
import type { CatalogPlan, CatalogWrite } from "./store.ts";

interface ProviderBirth {
  readonly id: string;
  readonly createdAtUs: InstantUs;
  readonly secrets: SecretBox;
  readonly actor: Actor;
}

/** Throws at once what `parseProviderDraft` throws; the plan throws `provider_exists`. */
export function planProviderCreate(draft: ProviderDraft, birth: ProviderBirth): CatalogPlan<Provider> {
  const { id, createdAtUs, secrets, actor } = birth;
  const { fields, apiKey } = parseProviderDraft(draft);
  return (current) => {
    if (current.findProvider(fields.name) !== null) {
      throw providerExists();
    }
    // Sealed under the write lock, by the secret that the catalog has then: a rotation may come in between.
    const sealedCredential = apiKey === null ? null : sealCredential(secrets, { ...fields, id }, apiKey);
    const credentialSetAtUs = apiKey === null ? null : createdAtUs;
    const sealed = { sealedCredential, credentialSetAtUs, ...NO_FORMER };
    const provider: Provider = { ...fields, id, createdAtUs, ...sealed };
    return {
      writes: [{ kind: "put_provider", provider }],
      audit: toProviderEntries(actor, "provider.create", provider.name),
      result: () => provider,
    };
  };
}

interface ProviderChange extends Pick<ProviderBirth, "secrets" | "actor"> {
  readonly nowUs: InstantUs;
}

/** Throws at once what `parseProviderPatch` throws; the plan throws `provider_not_found`. */
export function planProviderUpdate(
  name: string,
  patch: ProviderPatch,
  maker: ProviderChange,
): CatalogPlan<Provider> {
  return planProviderChange(name, parseProviderPatch(patch), maker);
}

/** The plan throws `provider_not_found`. */
export function planProviderChange(
  name: string,
  { fields, apiKey }: ParsedProviderPatch,
  { secrets, actor, nowUs }: ProviderChange,
): CatalogPlan<Provider> {
  return (current) => {
    const before = requireProvider(current, name);
    const after = { ...before, ...fields };
    const sealedCredential =
      apiKey === undefined
        ? rebindCredential(secrets, { before, after })
        : apiKey === null
          ? null
          : sealCredential(secrets, after, apiKey);
    const { credentialSetAtUs: setBefore = null } = before;
    const credentialSetAtUs = apiKey === undefined ? setBefore : apiKey === null ? null : nowUs;
    const former = toFormer(before, { after, apiKey, secrets, nowUs });
    const provider: Provider = { ...after, sealedCredential, credentialSetAtUs, ...former };
    return {
      writes: [{ kind: "put_provider", provider }],
      audit: toProviderEntries(actor, "provider.update", name),
      result: () => provider,
    };
  };
}

interface Replaced extends Pick<ProviderChange, "secrets" | "nowUs"> {
  readonly after: Provider;
  readonly apiKey: ParsedProviderPatch["apiKey"];
}

/**
 * The credential that a replaced one leaves behind. A removed one leaves none, and with another address or other TLS settings
 * none is kept: to take it back would send it where it was never meant to go.
 */
function toFormer(before: Provider, { after, apiKey, secrets, nowUs }: Replaced) {
  if (apiKey === null || !isBoundAlike(before, after)) return NO_FORMER;
  // A key that is stored already replaces nothing.
  if (apiKey === undefined || apiKey === findCredential(secrets, before)) return {};
  return sealFormer(secrets, before, nowUs);
}

/**
 * Puts the former credential in the place of the present one, which becomes the former. The plan throws `provider_not_found`, and
 * `former_credential_not_found` when none is kept.
 */
export function planCredentialRestore(
  name: string,
  { secrets, actor, nowUs }: ProviderChange,
): CatalogPlan<Provider> {
  return (current) => {
    const before = requireProvider(current, name);
    const apiKey = findFormer(secrets, before, nowUs);
    if (apiKey === null) {
      throw new ProxyError(
        "former_credential_not_found",
        "No former credential of this provider is kept. One is for a day after it was replaced, while address and TLS settings stay as they were and no credential is removed.",
      );
    }
    const provider: Provider = {
      ...before,
      sealedCredential: sealCredential(secrets, before, apiKey),
      credentialSetAtUs: before.formerSetAtUs ?? null,
      ...sealFormer(secrets, before, nowUs),
    };
    return {
      writes: [{ kind: "put_provider", provider }],
      audit: toProviderEntries(actor, "credential.restore", name),
      result: () => provider,
    };
  };
}

/** True where a former credential is stored whose day is over. */
function hasExpiredFormer({ formerCredential, formerUntilUs }: Provider, nowUs: InstantUs): boolean {
  return (formerCredential ?? null) !== null && (formerUntilUs ?? -Infinity) <= nowUs;
}

/** Removes former credentials whose day is over; null when there are none. Nobody asks for it, so that no entry tells of it. */
export function planFormerRemoval(current: CatalogPicture, nowUs: InstantUs): CatalogPlan<void> | null {
  if (!current.providers.some((provider) => hasExpiredFormer(provider, nowUs))) return null;
  return ({ providers }) => ({
    writes: providers
      .filter((provider) => hasExpiredFormer(provider, nowUs))
      .map((provider) => ({ kind: "put_provider", provider: { ...provider, ...NO_FORMER } })),
    audit: [],
    result: () => undefined,
  });
}

/** A provider, and what goes with it. */
export interface ProviderRemoval {
  readonly provider: Provider;
  /** Its models and the names that point at them, by alias. */
  readonly models: readonly Model[];
}

/** Throws `provider_not_found`. */
export function findProviderRemoval(current: CatalogPicture, name: string): ProviderRemoval {
  const provider = requireProvider(current, name);
  const served = current.models.filter((resolved) => resolved.provider.id === provider.id);
  return { provider, models: served.map(({ model }) => model) };
}

/** Its bindings go with it, and the names that point at them, each with an audit entry of its own. Throws `provider_not_found`. */
export function planProviderDelete(name: string, actor: Actor): CatalogPlan<void> {
  return (current) => {
    const { provider, models } = findProviderRemoval(current, name);
    // Names first: at no moment does a row point at one that is gone.
    const inOrder = [
      ...models.filter(({ route }) => route.kind === "name"),
      ...models.filter(({ route }) => route.kind === "binding"),
    ];
    const writes: readonly CatalogWrite[] = [
      ...inOrder.flatMap((model) => planPriceRemoval(current, model)),
      ...inOrder.map(({ id }): CatalogWrite => ({ kind: "delete_model", id })),
      { kind: "delete_provider", id: provider.id },
    ];
    const modelEntries = models.flatMap(({ alias }) => toModelEntry(actor, "model.delete", alias));
    return {
      writes,
      audit: [...toProviderEntries(actor, "provider.delete", name), ...modelEntries],
      result: () => undefined,
    };
  };
}

export function providerExists(): ProxyError {
  return new ProxyError("provider_exists", "A provider of this name exists already.", { param: "name" });
}

function requireProvider(current: CatalogPicture, name: string): Provider {
  const provider = current.findProvider(name);
  if (provider === null) throw toProviderNotFound(current, name);
  return provider;
}

function toProviderEntries(actor: Actor, action: AuditAction, name: string): readonly AuditEntry[] {
  const entry = toAuditEntry(actor, { action, targetKind: "provider", targetRef: name });
  return entry === null ? [] : [entry];
}
