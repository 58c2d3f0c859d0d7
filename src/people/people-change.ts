import type { Actor, AuditEntry } from "#audit/event.ts";
import type { Principal } from "#identity/principal.ts";
import type { ListedSecret } from "#identity/secret.ts";
import type { InstantUs } from "#kernel/clock.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import type { Limit } from "#limits/limit.ts";
import type { NewLimit } from "#limits/store.ts";
import type { PeopleWrite } from "./store.ts";

export interface PeopleBirth {
  /** Whether what the file does not have is removed, in each section that it has. */
  readonly isPruned: boolean;
  /** The id and time of what is made; always the same for the same kind and name, since a plan may be asked twice. */
  readonly toBirth: (kind: string, name: string) => { readonly id: string; readonly createdAtUs: InstantUs };
  /** Asked when the plan runs: under the write lock it is that of the catalog's present secret. */
  readonly secrets: SecretBox;
  readonly actor: Actor;
}

/** What becomes of one resource; null is one that is not there. */
export type PeopleResourceChange =
  | ResourceChange<"principal", Principal>
  /** `credential`: what becomes of its secret. */
  | (ResourceChange<"key", KeyFacts> & { readonly credential: "set" | "kept" | "removed" })
  | ResourceChange<"limit", LimitFacts>;

interface ResourceChange<Kind, Facts> {
  readonly kind: Kind;
  /** A principal's or limit's name; of a key what it is called in the file, else its id. */
  readonly name: string;
  readonly before: Facts | null;
  readonly after: Facts | null;
  /** It tells what a removal takes along; null: nothing but what has a change of its own. */
  readonly along?: Along | null;
}

/** What goes with a principal or a key. */
export interface Along {
  /** By label, or id where there is none. */
  readonly keys: readonly string[];
  readonly relayTokens: readonly string[];
  /** By name. */
  readonly limits: readonly string[];
}

/** What the file has, and was not made. */
export interface Skipped {
  readonly kind: "key" | "limit";
  readonly name: string;
  /**
   * `no_secret`: a new key that the file has no secret of. `former_secret`: the file has the secret from before the last rotation,
   * and the present one stays. `no_key`: the limit's key was skipped. `no_relay_token`: no file makes a relay token.
   */
  readonly reason: "no_secret" | "former_secret" | "no_key" | "no_relay_token";
}

export interface PeopleOutcome {
  /** In the order in which they are made; empty when everything is as the file has it. */
  readonly changes: readonly PeopleResourceChange[];
  readonly skipped: readonly Skipped[];
  /** How many stay that the file does not have and `prune` would remove; 0 in a section that it does not have. */
  readonly kept: { readonly principals: number; readonly keys: number; readonly limits: number };
}

/** One resource's way to what the file has. */
export interface Step {
  readonly change: PeopleResourceChange;
  readonly write: PeopleWrite;
  readonly audit: readonly Omit<AuditEntry, "actorPrincipalId">[];
}

/** A key as a file tells of it: nothing of its secret. */
export type KeyFacts = Pick<ListedSecret, "id" | "principalName" | "label" | "terms" | "tags">;

/** A limit as a file tells of it: its principal by name. */
export type LimitFacts = Pick<
  NewLimit,
  | "name"
  | "subject"
  | "model"
  | "each"
  | "fixed"
  | "measure"
  | "amount"
  | "window"
  | "action"
  | "unpriced"
  | "unknownMax"
  | "enabled"
>;

export function toKeyFacts({ id, principalName, label, terms, tags }: KeyFacts): KeyFacts {
  return { id, principalName, label, terms, tags };
}

export function toLimitFacts({ subject, ...limit }: Limit): LimitFacts {
  const { kind } = subject;
  return { ...limit, subject: kind === "principal" ? { kind, name: subject.name } : subject };
}
