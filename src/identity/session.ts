import type { InstantUs } from "#kernel/clock.ts";

/** A browser session as it is kept: the cookie holds a random token, the row its keyed hash. */
export interface Session {
  readonly tokenHash: string;
  readonly principalId: string;
  readonly createdAtUs: InstantUs;
  readonly expiresAtUs: InstantUs;
}
/** A login link as it is kept: the page's address holds a random token, the row its keyed hash. */
export interface LoginLink {
  readonly tokenHash: string;
  readonly principalId: string;
  readonly createdAtUs: InstantUs;
  readonly expiresAtUs: InstantUs;
}
