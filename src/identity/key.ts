import type { InstantUs } from "#kernel/clock.ts";

export const API_KEY_PREFIX = "lp_";

/** An API key as it is kept (specification, section 2.7): its plaintext is shown once and never stored. */
export interface ApiKey {
  readonly id: string;
  readonly principalId: string;
  /** The last four characters of the plaintext. */
  readonly suffix: string;
  readonly label: string;
  readonly createdAtUs: InstantUs;
}

/** A key on its way into the store, with the keyed HMAC-SHA256 of its plaintext. */
export interface NewApiKey extends ApiKey {
  readonly hash: string;
}

/** What people tell a key by. */
export type KeyName = Pick<ApiKey, "label" | "suffix">;

/** A key with its owner, for lists that span principals. */
export interface OwnedApiKey extends ApiKey {
  readonly principalName: string;
}
