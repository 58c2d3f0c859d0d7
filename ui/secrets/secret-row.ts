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
  readonly tags?: readonly string[];
  readonly principal?: string;
} & ({ readonly key_suffix: string } | { readonly token_suffix: string });

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
    tags: secret.tags ?? [],
    owner: secret.principal,
  };
}

/** The label, or the last characters of a secret without one. */
export function toSecretName({ label, suffix }: SecretRow): string {
  return label === "" ? `***${suffix}` : label;
}

/** What tells keys and relay tokens apart on the page. */
export interface SecretKind {
  readonly noun: "key" | "relay token";
  readonly title: "Key" | "Relay token";
  readonly icon: IconName;
  /** The clients that the examples are for. */
  readonly clients: "openai" | "relay";
  /** The request log can be filtered by it. */
  readonly hasRequests: boolean;
  /** It can be held to models. */
  readonly hasModels: boolean;
}

export const KEY: SecretKind = {
  noun: "key",
  title: "Key",
  icon: "key",
  clients: "openai",
  hasRequests: true,
  hasModels: true,
};

export const RELAY_TOKEN: SecretKind = {
  noun: "relay token",
  title: "Relay token",
  icon: "token",
  clients: "relay",
  hasRequests: false,
  hasModels: false,
};
