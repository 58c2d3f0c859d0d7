/** What a key or a relay token is made with. */
export interface SecretDraft {
  readonly label: string;
  /** A UTC date-time. */
  readonly expires_at?: string;
  /** The only aliases that a key may use; relay tokens have none. */
  readonly models?: readonly string[];
  readonly scope?: "inference";
  /** Fixed tags, which admins alone set. */
  readonly tags?: readonly string[];
}

/** What changes of one; null lifts it. */
export interface SecretPatch {
  readonly label?: string;
  readonly expires_at?: string | null;
  readonly models?: readonly string[] | null;
  readonly scope?: "full" | "inference";
  readonly tags?: readonly string[] | null;
  readonly enabled?: boolean;
}

export interface SecretUpdate {
  readonly id: string;
  readonly patch: SecretPatch;
}

/** The secret of a rotated key. */
export interface RotatedKey {
  readonly key: string;
}

export interface KeyRotation {
  readonly id: string;
  /** How long the secret before goes on working. */
  readonly graceSeconds: number;
}
