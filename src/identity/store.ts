import type { AuditEntry } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { Precondition } from "#kernel/errors.ts";
import type { Principal, PrincipalChange } from "./principal.ts";
import type { ListedSecret, NewSecret, OwnedSecret, SecretName, SecretTerms } from "./secret.ts";

/** An account at an identity provider (decisions, "Sign-in"): issuer and subject together identify it. */
interface OidcSubject {
  /** The ID token's `iss`. */
  readonly issuer: string;
  /** The ID token's `sub`. */
  readonly subject: string;
}

/** API keys, or relay tokens: two tables, so that neither is ever found as the other. */
export interface SecretStore {
  /**
   * Throws `principal_not_found` when the owner is gone, and `too_many_keys` or `too_many_relay_tokens` when it has
   * `SECRETS_PER_PRINCIPAL_MAX` of them.
   */
  create(secret: NewSecret, audit: AuditEntry | null): Promise<void>;
  /** The secret and its owner, enabled or not; null when no such secret exists. */
  findByHash(hash: string): Promise<FoundSecret | null>;
  /**
   * Returns the secret that memory has while the file still says the same, else null: then ask `findByHash`. Every request
   * asks.
   */
  peekByHash(hash: string): FoundSecret | null;
  /** By creation time, of one principal or of all. */
  list(filter: { readonly principalId?: string }, page: Page): Promise<Paged<ListedSecret>>;
  /**
   * Asks `plan`, under the write lock, how the secret changes, and returns it as it is afterwards. What `plan` throws is
   * thrown, and nothing is written. Throws `key_not_found` or `relay_token_not_found`, also when `principalId` is not the owner.
   */
  change(
    filter: SecretFilter,
    plan: (before: OwnedSecret) => SecretChange,
    audit: AuditEntry | null,
  ): Promise<ListedSecret>;
  /** Throws `key_not_found` or `relay_token_not_found`, also when `principalId` is given and is not the owner. */
  delete(filter: SecretFilter, audit: AuditEntry | null): Promise<void>;
  /** Finds all that `delete` would remove. Throws as it does, and changes nothing. */
  findRemoval(filter: SecretFilter): Promise<SecretRemoval>;
}

/** One secret: of whichever principal, or only of this one. */
export interface SecretFilter {
  readonly id: string;
  readonly principalId?: string;
}

/** A limit that goes with what it limits. */
interface RemovedLimit {
  readonly id: string;
  readonly name: string;
  /** A caller sees no limit that is switched off. */
  readonly enabled: boolean;
}

/** A secret, and what goes with it. */
export interface SecretRemoval {
  readonly secret: ListedSecret;
  readonly limits: readonly RemovedLimit[];
}

/** A principal, and what goes with it. */
export interface PrincipalRemoval {
  readonly principal: Principal;
  readonly keys: readonly RemovedSecret[];
  readonly relayTokens: readonly RemovedSecret[];
  readonly sessions: number;
  readonly limits: readonly RemovedLimit[];
}

export interface RemovedSecret extends SecretName {
  readonly id: string;
}

/** A change of a secret; a field that is absent stays. */
export interface SecretChange {
  readonly label?: string;
  readonly terms?: SecretTerms;
  readonly tags?: readonly string[];
  readonly rotation?: Rotation;
}

/** Another plaintext, and until when the one in force goes on working; null: it ends at once. The one before that ends. */
export interface Rotation {
  readonly hash: string;
  readonly suffix: string;
  readonly formerUntilUs: InstantUs | null;
}

export interface FoundSecret {
  readonly secret: OwnedSecret;
  readonly principal: Principal;
  /** The principal's tags and, before them, the secret's. */
  readonly fixedTags: readonly string[];
  /** From this moment on it is refused: Infinity for one without an end, -Infinity for one that is paused. */
  readonly endsAtUs: number;
  /** Until when the plaintext works that it was found by, when a rotation has replaced that one. */
  readonly formerUntilUs: InstantUs | null;
}

export interface KeyStore extends SecretStore {
  /** Labels and suffixes by id, of those keys that exist; any number of ids. */
  findNames(ids: readonly string[]): Promise<ReadonlyMap<string, SecretName>>;
}

export interface PrincipalStore {
  /** Throws `principal_exists`. */
  createPrincipal(principal: Principal, audit: AuditEntry | null): Promise<void>;
  /** Makes the principal unless one of its name exists; returns the one that exists afterwards. */
  ensurePrincipal(principal: Principal): Promise<Principal>;
  findPrincipalByName(name: string): Promise<Principal | null>;
  /** By name. */
  listPrincipals(page: Page): Promise<Paged<Principal>>;
  countPrincipals(): Promise<number>;
  /** Throws `principal_not_found`, `last_admin` when no enabled admin would be left, and what `require` throws. */
  updatePrincipal(
    id: string,
    change: PrincipalChange,
    audit: AuditEntry | null,
    require?: Precondition<Principal>,
  ): Promise<Principal>;
  /** Its keys, relay tokens, sessions and subjects go with it. Throws as `updatePrincipal`. */
  deletePrincipal(id: string, audit: AuditEntry | null, require?: Precondition<Principal>): Promise<void>;
  /** Finds all that `deletePrincipal` would remove, of its sessions those that are good at `nowUs`. Throws as it does, and changes nothing. */
  findPrincipalRemoval(
    id: string,
    nowUs: InstantUs,
    require?: Precondition<Principal>,
  ): Promise<PrincipalRemoval>;
  /** Enabled or not; null when no principal has signed in as this subject. */
  findPrincipalBySubject(issuer: string, subject: string): Promise<Principal | null>;
  /**
   * Makes the principal together with its subject, unless the subject has one already; returns the subject's principal
   * as it is afterwards. Throws `principal_exists`, and writes nothing, when the name belongs to another principal.
   */
  createPrincipalForSubject(principal: Principal, subject: OidcSubject): Promise<Principal>;
}

export interface SessionStore {
  /** Sessions that have expired by `nowUs` are removed on the way. */
  createSession(session: Session, nowUs: InstantUs): Promise<void>;
  /** Null when unknown, deleted or expired. */
  findSession(
    tokenHash: string,
    nowUs: InstantUs,
  ): Promise<{ readonly session: Session; readonly principal: Principal } | null>;
  deleteSession(tokenHash: string): Promise<void>;
  /** Says which cookie is the newest that was used. Nothing is written when the session is gone or knows a newer one. */
  advanceSession(tokenHash: string, cookieIssuedAtUs: InstantUs): Promise<void>;
  /** Links that have expired by `nowUs` are removed on the way. Throws `principal_not_found`. */
  createLoginLink(link: LoginLink, nowUs: InstantUs): Promise<void>;
  /** Removes the link and returns its principal, enabled or not; null when it is unknown or expired. No two calls get one link. */
  takeLoginLink(tokenHash: string, nowUs: InstantUs): Promise<Principal | null>;
  /** Those that are good at `nowUs`, of one principal or of all (null), the one seen last first; `SESSIONS_LISTED_MAX` at most. */
  listSessions(
    principalId: string | null,
    nowUs: InstantUs,
  ): Promise<readonly { readonly session: Session; readonly principal: Principal }[]>;
  /**
   * All of the principal's but the one of `keptTokenHash`. Login links that wait go as well. Throws `principal_not_found`; returns
   * how many sessions were deleted.
   */
  revokeSessions(
    principalId: string,
    audit: AuditEntry | null,
    keptTokenHash?: string | null,
  ): Promise<number>;
}

/**
 * Principals, keys, relay tokens and sessions. One method is one transaction; each mutation commits its audit entry with it
 * (`null`: there is none). Whatever a method returns is true at the moment it is asked, also of what
 * another process has just written.
 */
export interface IdentityStore extends PrincipalStore, SessionStore {
  readonly keys: KeyStore;
  readonly relayTokens: SecretStore;
}

/** The last use of keys and relay tokens: coarse, kept apart from the catalog so that traffic never looks like a change to it. */
export interface KeyUseStore {
  /** Last use by id; an id that was never used is absent. */
  loadLastUsed(ids: readonly string[]): Promise<ReadonlyMap<string, InstantUs>>;
  /** Hands over; never waits for the disk. */
  saveLastUsed(id: string, atUs: InstantUs): void;
}

export const SESSIONS_LISTED_MAX = 1_000;

/** A browser session as it is kept: the cookie holds a random token, the row its keyed hash. */
export interface Session {
  readonly tokenHash: string;
  readonly principalId: string;
  /** The moment at which the newest cookie that was used was issued; at first the one that the sign-in made. */
  readonly cookieIssuedAtUs: InstantUs;
  readonly expiresAtUs: InstantUs;
}
/** A login link as it is kept: the page's address holds a random token, the row its keyed hash. */
interface LoginLink {
  readonly tokenHash: string;
  readonly principalId: string;
  readonly createdAtUs: InstantUs;
  readonly expiresAtUs: InstantUs;
}
