import type { OwnedKey, OwnedRelayToken, Principal } from "../../../api/people.ts";

/** One row of a report that tells principals apart. */
interface CostRow {
  readonly principal: string;
  readonly cost: number | null;
  readonly requests: number;
}

/** A principal with what is told of it elsewhere. */
export interface Person {
  readonly id: string;
  readonly name: string;
  readonly kind: Principal["kind"];
  readonly role: Principal["role"];
  readonly isEnabled: boolean;
  /** As the server told it: what a change is made from. */
  readonly stored: Principal;
  /** Fixed tags, on all of its usage. */
  readonly tags: readonly string[];
  readonly createdAt: string;
  readonly keyCount: number;
  readonly tokenCount: number;
  /** When a key or a relay token of theirs was used last; the browser leaves no such mark. */
  readonly lastUsedAt: string | null;
  readonly requests: number;
  /** Null: they used nothing, or nothing of it had a price. */
  readonly cost: number | null;
  /** Some of it had no price. */
  readonly isCostPartial: boolean;
}

export interface PeopleSources {
  readonly principals: readonly Principal[];
  readonly keys: readonly OwnedKey[];
  readonly tokens: readonly OwnedRelayToken[];
  /** Usage of the last 30 days. */
  readonly usage: readonly CostRow[];
}

/** All principals, in the order of `principals`. */
export function toPeople({ principals, keys, tokens, usage }: PeopleSources): readonly Person[] {
  const keysOf = Map.groupBy(keys, ({ principal }) => principal);
  const tokensOf = Map.groupBy(tokens, ({ principal }) => principal);
  const usageOf = Map.groupBy(usage, ({ principal }) => principal);
  return principals.map((stored) => {
    const { id, name, kind, role, enabled, tags = [], created_at: createdAt } = stored;
    const ownKeys = keysOf.get(name) ?? [];
    const ownTokens = tokensOf.get(name) ?? [];
    const used = usageOf.get(name) ?? [];
    const costs = used.flatMap(({ cost }) => cost ?? []);
    return {
      stored,
      id,
      name,
      kind,
      role,
      isEnabled: enabled !== false,
      tags,
      createdAt,
      keyCount: ownKeys.length,
      tokenCount: ownTokens.length,
      lastUsedAt: toLatest([...ownKeys, ...ownTokens]),
      requests: used.reduce((sum, { requests }) => sum + requests, 0),
      cost: costs.length === 0 ? null : costs.reduce((sum, cost) => sum + cost, 0),
      isCostPartial: costs.length > 0 && costs.length < used.length,
    };
  });
}

export function matchesPerson({ name, kind, role, tags }: Person, query: string | undefined): boolean {
  if (query === undefined) return true;
  const wanted = query.toLowerCase();
  return name.includes(wanted) || kind === wanted || role === wanted || tags.includes(wanted);
}

function toLatest(secrets: readonly { readonly last_used_at: string | null }[]): string | null {
  const used = secrets.flatMap(({ last_used_at: at }) => at ?? []);
  return used.length === 0 ? null : used.reduce((left, right) => (left > right ? left : right));
}
