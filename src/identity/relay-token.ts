import type { InstantUs } from "#kernel/clock.ts";

export const RELAY_TOKEN_PREFIX = "lpt_";

/** A relay token as it is kept (specification, section 2.7): its plaintext is shown once and never stored. */
export interface RelayToken {
  readonly id: string;
  readonly principalId: string;
  /** The last four characters of the plaintext. */
  readonly suffix: string;
  readonly label: string;
  readonly createdAtUs: InstantUs;
}

/** A token on its way into the store, with the keyed HMAC-SHA256 of its plaintext. */
export interface NewRelayToken extends RelayToken {
  readonly hash: string;
}

/** A token with its owner, for lists that span principals. */
export interface OwnedRelayToken extends RelayToken {
  readonly principalName: string;
}
