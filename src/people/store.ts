import type { AuditEntry } from "#audit/event.ts";
import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { CatalogPlan } from "#catalog/store.ts";
import type { Principal, PrincipalChange } from "#identity/principal.ts";
import type { ListedSecret, NewSecret, OwnedSecret } from "#identity/secret.ts";
import type { SecretChange } from "#identity/store.ts";
import type { Limit, LimitChange } from "#limits/limit.ts";
import type { NewLimit } from "#limits/store.ts";

/** A key with what it is looked for by: neither hash leaves the plan. */
export interface StoredKey extends ListedSecret {
  readonly hash: string;
  /** It hashes the secret before the last rotation. */
  readonly formerHash: string | null;
}

/** Principals, keys and limits as they are at one moment. */
export interface PeoplePicture {
  /** By name. */
  readonly principals: readonly Principal[];
  /** Ids of those that come from single sign-on. */
  readonly ssoIds: ReadonlySet<string>;
  /** The oldest first. */
  readonly keys: readonly StoredKey[];
  readonly relayTokens: readonly Pick<OwnedSecret, "id" | "principalId" | "label">[];
  /** The oldest first. */
  readonly limits: readonly Limit[];
}

/** Everything that a file of a whole installation speaks of. */
export interface InstallationPicture {
  readonly catalog: CatalogSnapshot;
  readonly people: PeoplePicture;
}

/** One step, as data: rules decide it, a store carries it out. Steps of one kind may be carried out together. */
export type PeopleWrite =
  | { readonly kind: "create_principal"; readonly principal: Principal }
  | { readonly kind: "update_principal"; readonly id: string; readonly change: PrincipalChange }
  | { readonly kind: "create_key"; readonly key: NewSecret }
  | { readonly kind: "update_key"; readonly id: string; readonly change: SecretChange }
  /** `subjectId`: of its principal, key or relay token; null for everybody and for a tag. */
  | { readonly kind: "create_limit"; readonly limit: NewLimit; readonly subjectId: string | null }
  | { readonly kind: "update_limit"; readonly id: string; readonly change: LimitChange }
  | { readonly kind: "delete_limit" | "delete_key" | "delete_principal"; readonly id: string };

export interface PeopleChange<Result> {
  /** In the order in which they are carried out. */
  readonly writes: readonly PeopleWrite[];
  readonly audit: readonly AuditEntry[];
  readonly result: Result;
}

/** Decides a change on people as they are; what it throws refuses the change. Pure. */
export type PeoplePlan<Result> = (current: PeoplePicture) => PeopleChange<Result>;

export interface PeopleStore {
  /** As of now, including what another process committed just before. */
  snapshot(): Promise<InstallationPicture>;
  /** A dry run asks this: it refuses what `change` refuses whatever the plans are. */
  rehearse(): Promise<InstallationPicture>;
  /** As `CatalogStore.change`: one transaction, the catalog first; plans are pure and may be asked more than once. */
  change<OfCatalog, OfPeople>(
    catalog: CatalogPlan<OfCatalog>,
    people: PeoplePlan<OfPeople>,
  ): Promise<{ readonly catalog: OfCatalog; readonly people: OfPeople }>;
}
