import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { MODELS, pricingQuery, PROVIDERS } from "../../api/catalog.ts";
import { LIMITS } from "../../api/limits.ts";
import { ALL_KEYS, ALL_RELAY_TOKENS, type AuditEvent, PRINCIPALS } from "../../api/people.ts";

type Kind = AuditEvent["target_kind"];

/** What an event was about, as far as it is still there. */
export interface KnownTarget {
  readonly label: string;
  /** The principal that is the target or owns it; null for a target without an owner. */
  readonly principalId: string | null;
  /** Its row, of a kind whose changes can be undone. */
  readonly row: object | null;
}

/** Null: it is gone, or not known yet. */
export type FindTarget = (kind: Kind, ref: string) => KnownTarget | null;

/** Everything that an event may have been about. Only lists of kinds that occur are asked for. */
export function useTargets(kinds: ReadonlySet<Kind>): FindTarget {
  const hasSecrets = kinds.has("api_key") || kinds.has("relay_token");
  const providers = useQuery({ ...PROVIDERS.list(), enabled: kinds.has("provider") });
  const models = useQuery({ ...MODELS.list(), enabled: kinds.has("model") });
  const principals = useQuery({ ...PRINCIPALS.list(), enabled: kinds.has("principal") || hasSecrets });
  const keys = useQuery({ ...ALL_KEYS.list(), enabled: kinds.has("api_key") });
  const tokens = useQuery({ ...ALL_RELAY_TOKENS.list(), enabled: kinds.has("relay_token") });
  const limits = useQuery({ ...LIMITS.list(), enabled: kinds.has("limit"), refetchInterval: false });
  const pricing = useQuery({ ...pricingQuery(), enabled: kinds.has("pricing_feed") });

  return useMemo(() => {
    const people = principals.data?.rows ?? [];
    const idByName = new Map(people.map(({ id, name }) => [name, id]));
    const toSecret = (label: string, suffix: string, owner: string): KnownTarget => ({
      label: `${label === "" ? `***${suffix}` : label} of ${owner}`,
      principalId: idByName.get(owner) ?? null,
      row: null,
    });
    const known: { readonly [kind in Kind]: ReadonlyMap<string, KnownTarget> } = {
      provider: new Map(providers.data?.rows.map(({ name }) => [name, toNamed(name)])),
      model: new Map(models.data?.rows.map((row) => [row.alias, toNamed(row.alias, row)])),
      principal: new Map(people.map((row) => [row.id, { label: row.name, principalId: row.id, row }])),
      api_key: new Map(
        keys.data?.rows.map((key) => [key.id, toSecret(key.label, key.key_suffix, key.principal)]),
      ),
      relay_token: new Map(
        tokens.data?.rows.map((token) => [
          token.id,
          toSecret(token.label, token.token_suffix, token.principal),
        ]),
      ),
      limit: new Map(limits.data?.rows.map((row) => [row.id, toNamed(row.name, row)])),
      secret_key: SECRET_KEY,
      repricing: NO_NAMES,
      pricing_feed: new Map(toVersions(pricing.data).map((version) => [version, toNamed(version)])),
    };
    return (kind, ref) => known[kind].get(ref) ?? null;
  }, [providers.data, models.data, principals.data, keys.data, tokens.data, limits.data, pricing.data]);
}

/** Re-pricings have no name but their ids. */
const NO_NAMES: ReadonlyMap<string, KnownTarget> = new Map();

/** It is there for as long as the server is. */
const SECRET_KEY: ReadonlyMap<string, KnownTarget> = new Map([["secret.key", toNamed("secret key")]]);

function toNamed(label: string, row: object | null = null): KnownTarget {
  return { label, principalId: null, row };
}

interface Versions {
  readonly version: string | null;
  readonly entries: readonly { readonly version: string | null }[];
}

/** Of the last feed, and of every earlier one that has a price left. */
function toVersions(pricing: Versions | undefined): readonly string[] {
  if (pricing === undefined) return [];
  return [...new Set([pricing.version, ...pricing.entries.map(({ version }) => version)])].flatMap(
    (version) => version ?? [],
  );
}
