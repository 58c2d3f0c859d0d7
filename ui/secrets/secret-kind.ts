import type { Change } from "../api/changing.ts";
import {
  ALL_KEYS,
  ALL_RELAY_TOKENS,
  type KeyRotation,
  MY_KEYS,
  MY_RELAY_TOKENS,
  rotateKey,
  rotateMyKey,
  type SecretPatch,
} from "../api/people.ts";
import type { RemovalQuery } from "../api/resource.ts";
import type { IconName } from "../components/icon.tsx";

/** A key or a relay token, as lists show it. */
export interface SecretRow {
  readonly id: string;
  readonly label: string;
  /** The last four characters of the plaintext. */
  readonly suffix: string;
  readonly createdAt: string;
  readonly lastUsedAt: string | null;
  readonly expiresAt: string | null;
  /** Null: every model. */
  readonly models: readonly string[] | null;
  readonly isPaused: boolean;
  /** Its scope: a key of the other one reaches all that its owner may. */
  readonly isForInference: boolean;
  /** Fixed tags, on all of its usage. */
  readonly tags: readonly string[];
  /** The owner's name, in lists of all principals. */
  readonly owner?: string | undefined;
}

/** A key or a relay token, as the server lists it. */
export type ListedSecret = {
  readonly id: string;
  readonly label: string;
  readonly created_at: string;
  readonly last_used_at: string | null;
  readonly expires_at?: string;
  readonly models?: readonly string[];
  readonly enabled?: false;
  readonly scope?: "inference";
  readonly tags?: readonly string[];
  readonly principal?: string;
} & ({ readonly key_suffix: string } | { readonly token_suffix: string });

/** The plaintext of a key or of a relay token. */
export type CreatedSecret = { readonly key: string } | { readonly token: string };

export function toSecretRow(secret: ListedSecret): SecretRow {
  return {
    id: secret.id,
    label: secret.label,
    suffix: "key_suffix" in secret ? secret.key_suffix : secret.token_suffix,
    createdAt: secret.created_at,
    lastUsedAt: secret.last_used_at,
    expiresAt: secret.expires_at ?? null,
    models: secret.models ?? null,
    isPaused: secret.enabled === false,
    isForInference: secret.scope === "inference",
    tags: secret.tags ?? [],
    owner: secret.principal,
  };
}

/** The label, or the last characters of a secret without one. */
export function toSecretName({ label, suffix }: Pick<SecretRow, "label" | "suffix">): string {
  return label === "" ? `***${suffix}` : label;
}

export interface SecretUpdate {
  readonly id: string;
  readonly patch: SecretPatch;
}

/** The secret of a rotated key. */
export interface RotatedKey {
  readonly key: string;
}

/** The ways to change a secret: one's own, or for an admin anybody's. */
export interface SecretChanges {
  readonly secrets: {
    readonly update: Change<SecretUpdate, unknown>;
    readonly remove: Change<{ readonly id: string }, { readonly deleted: string }>;
    readonly removal: (id: string) => RemovalQuery;
  };
  /** Null: it has no rotation. */
  readonly rotate: Change<KeyRotation, RotatedKey> | null;
}

/** The differences between keys and relay tokens on the page. */
export interface SecretKind {
  readonly noun: "key" | "relay token";
  readonly title: "Key" | "Relay token";
  readonly icon: IconName;
  /** The clients that the examples are for. */
  readonly clients: "openai" | "relay";
  /** The request log can be filtered by it. */
  readonly hasRequests: boolean;
  /** It can be held to models, and to inference. */
  readonly hasModels: boolean;
  readonly own: SecretChanges;
  readonly admin: SecretChanges;
}

export const KEY: SecretKind = {
  noun: "key",
  title: "Key",
  icon: "key",
  clients: "openai",
  hasRequests: true,
  hasModels: true,
  own: { secrets: MY_KEYS, rotate: rotateMyKey },
  admin: { secrets: ALL_KEYS, rotate: rotateKey },
};

export const RELAY_TOKEN: SecretKind = {
  noun: "relay token",
  title: "Relay token",
  icon: "token",
  clients: "relay",
  hasRequests: false,
  hasModels: false,
  own: { secrets: MY_RELAY_TOKENS, rotate: null },
  admin: { secrets: ALL_RELAY_TOKENS, rotate: null },
};
