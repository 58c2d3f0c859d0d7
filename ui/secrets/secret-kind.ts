import type { Change } from "../api/changing.ts";
import { deleteMyKey, deleteMyRelayToken, rotateMyKey, updateMyKey, updateMyRelayToken } from "../api/my.ts";
import { deleteKey, deleteRelayToken, rotateKey, updateKey, updateRelayToken } from "../api/people.ts";
import type { RemovalOf } from "../api/removals.ts";
import type { KeyRotation, RotatedKey, SecretUpdate } from "../api/secret-change.ts";
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

/** The ways to change a secret: one's own, or for an admin anybody's. */
export interface SecretChanges {
  readonly update: Change<SecretUpdate, unknown>;
  /** Deletes by id. */
  readonly remove: Change<string, { readonly deleted: string }>;
  /** Asked for what goes with a removal. */
  readonly removal: RemovalOf["route"];
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
  own: { update: updateMyKey, remove: deleteMyKey, removal: "DELETE /my/keys/:id", rotate: rotateMyKey },
  admin: { update: updateKey, remove: deleteKey, removal: "DELETE /admin/v1/keys/:id", rotate: rotateKey },
};

export const RELAY_TOKEN: SecretKind = {
  noun: "relay token",
  title: "Relay token",
  icon: "token",
  clients: "relay",
  hasRequests: false,
  hasModels: false,
  own: {
    update: updateMyRelayToken,
    remove: deleteMyRelayToken,
    removal: "DELETE /my/relay-tokens/:id",
    rotate: null,
  },
  admin: {
    update: updateRelayToken,
    remove: deleteRelayToken,
    removal: "DELETE /admin/v1/relay-tokens/:id",
    rotate: null,
  },
};
