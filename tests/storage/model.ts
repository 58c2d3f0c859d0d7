import type { Model } from "#catalog/model.ts";
import type { LoadedFeed, PriceRow, VariantRow } from "#catalog/pricing.ts";
import type { Provider } from "#catalog/provider.ts";
import { createSnapshot, type CatalogSnapshot } from "#catalog/snapshot.ts";
import type { CatalogWrite } from "#catalog/store.ts";
import type { FoundSecret, SecretFilter, Session } from "#identity/store.ts";
import type { NewSecret } from "#identity/secret.ts";
import type { Principal, PrincipalChange } from "#identity/principal.ts";

/** The stores' promises in the plainest way: maps, and a copy that is thrown away when a step is refused. */
export class CatalogModel {
  providers = new Map<string, Provider>();
  models = new Map<string, Model>();
  prices = new Map<string, PriceRow>();
  variants = new Map<string, VariantRow>();
  feed: LoadedFeed | null = null;

  /** False, and nothing changes, when any step is impossible. */
  apply(writes: readonly CatalogWrite[]): boolean {
    const before = [
      new Map(this.providers),
      new Map(this.models),
      new Map(this.prices),
      new Map(this.variants),
      this.feed,
    ] as const;
    if (writes.every((write) => this.step(write))) return true;
    [this.providers, this.models, this.prices, this.variants, this.feed] = before;
    return false;
  }

  snapshot(): CatalogSnapshot {
    return createSnapshot({
      providers: [...this.providers.values()],
      models: [...this.models.values()],
      prices: [...this.prices.values()],
      variants: [...this.variants.values()],
      feed: this.feed,
    });
  }

  private step(write: CatalogWrite): boolean {
    switch (write.kind) {
      case "put_provider": {
        const { provider } = write;
        if (
          [...this.providers.values()].some(
            (other) => other.id !== provider.id && other.name === provider.name,
          )
        )
          return false;
        this.providers.set(provider.id, provider);
        return true;
      }
      case "delete_provider":
        if (
          [...this.models.values()].some(
            ({ route }) => route.kind === "binding" && route.providerId === write.id,
          )
        )
          return false;
        return this.providers.delete(write.id);
      case "put_model": {
        const { model } = write;
        const { route } = model;
        if ([...this.models.values()].some((other) => other.id !== model.id && other.alias === model.alias))
          return false;
        if (route.kind === "binding" && !this.providers.has(route.providerId)) return false;
        if (route.kind === "name" && (route.targetId === model.id || !this.models.has(route.targetId)))
          return false;
        this.models.set(model.id, model);
        return true;
      }
      case "delete_model":
        if (
          [...this.models.values()].some(({ route }) => route.kind === "name" && route.targetId === write.id)
        )
          return false;
        return this.models.delete(write.id);
      case "put_price":
        this.prices.set(`${write.price.name} ${write.price.unit}`, write.price);
        return true;
      case "delete_price":
        return this.prices.delete(`${write.name} ${write.unit}`);
      case "put_variants":
        this.variants.set(write.list.name, write.list);
        return true;
      case "delete_variants":
        return this.variants.delete(write.name);
      case "put_feed":
        this.feed = write.feed;
        return true;
      default:
        throw new Error("unknown step");
    }
  }
}

type SecretKind = "keys" | "relayTokens";

/** Each method gives the code of the refusal, or null. */
export class IdentityModel {
  principals = new Map<string, Principal>();
  readonly secrets = { keys: new Map<string, NewSecret>(), relayTokens: new Map<string, NewSecret>() };
  /** Principal ids by subject. */
  subjects = new Map<string, string>();
  sessions = new Map<string, Session>();

  createPrincipal(principal: Principal): string | null {
    if (this.byName(principal.name) !== undefined) return "principal_exists";
    // The stores' ids are fresh; one that is used again is a bug.
    if (this.principals.has(principal.id)) return "bug";
    this.principals.set(principal.id, principal);
    return null;
  }

  ensurePrincipal(principal: Principal): string | null {
    return this.byName(principal.name) === undefined ? this.createPrincipal(principal) : null;
  }

  updatePrincipal(id: string, change: PrincipalChange): string | null {
    const before = this.principals.get(id);
    if (before === undefined) return "principal_not_found";
    const after = { ...before, ...change };
    if (!isActiveAdmin(after) && this.isLastAdmin(before)) return "last_admin";
    this.principals.set(id, after);
    return null;
  }

  deletePrincipal(id: string): string | null {
    const principal = this.principals.get(id);
    if (principal === undefined) return "principal_not_found";
    if (this.isLastAdmin(principal)) return "last_admin";
    this.principals.delete(id);
    for (const secrets of Object.values(this.secrets))
      for (const secret of secrets.values()) if (secret.principalId === id) secrets.delete(secret.id);
    for (const [subject, owner] of this.subjects) if (owner === id) this.subjects.delete(subject);
    this.revokeSessions(id);
    return null;
  }

  createSecret(kind: SecretKind, secret: NewSecret): string | null {
    if (!this.principals.has(secret.principalId)) return "principal_not_found";
    if (this.secrets[kind].has(secret.id)) return "bug";
    this.secrets[kind].set(secret.id, secret);
    return null;
  }

  deleteSecret(kind: SecretKind, { id, principalId }: SecretFilter): string | null {
    const secret = this.secrets[kind].get(id);
    if (secret === undefined || (principalId !== undefined && secret.principalId !== principalId))
      return kind === "keys" ? "key_not_found" : "relay_token_not_found";
    this.secrets[kind].delete(id);
    return null;
  }

  findByHash(kind: SecretKind, hash: string): FoundSecret | null {
    for (const { hash: own, ...secret } of this.secrets[kind].values()) {
      const principal = this.principals.get(secret.principalId);
      if (own === hash && principal !== undefined)
        return { secret, principal, fixedTags: [], endsAtUs: Infinity, formerUntilUs: null };
    }
    return null;
  }

  createPrincipalForSubject(principal: Principal, subject: string): string | null {
    if (this.subjects.has(subject)) return null;
    const refusal = this.createPrincipal(principal);
    if (refusal === null) this.subjects.set(subject, principal.id);
    return refusal;
  }

  findPrincipalBySubject(subject: string): Principal | null {
    return this.principals.get(this.subjects.get(subject) ?? "") ?? null;
  }

  createSession(session: Session, nowUs: number): string | null {
    if (!this.principals.has(session.principalId)) return "principal_not_found";
    const alive = [...this.sessions].filter(([, other]) => other.expiresAtUs > nowUs);
    // A hash that a living session has is a bug, and then nothing is removed either.
    if (alive.some(([tokenHash]) => tokenHash === session.tokenHash)) return "bug";
    this.sessions = new Map(alive);
    this.sessions.set(session.tokenHash, session);
    return null;
  }

  findSession(tokenHash: string, nowUs: number): { session: Session; principal: Principal } | null {
    const session = this.sessions.get(tokenHash);
    if (session === undefined || session.expiresAtUs <= nowUs) return null;
    const principal = this.principals.get(session.principalId);
    return principal === undefined ? null : { session, principal };
  }

  revokeSessions(principalId: string): string | null {
    for (const session of this.sessions.values())
      if (session.principalId === principalId) this.sessions.delete(session.tokenHash);
    return this.principals.has(principalId) ? null : "principal_not_found";
  }

  private byName(name: string): Principal | undefined {
    return [...this.principals.values()].find((principal) => principal.name === name);
  }

  private isLastAdmin(principal: Principal): boolean {
    return isActiveAdmin(principal) && [...this.principals.values()].filter(isActiveAdmin).length === 1;
  }
}

function isActiveAdmin(principal: Principal): boolean {
  return principal.role === "admin" && principal.enabled;
}
