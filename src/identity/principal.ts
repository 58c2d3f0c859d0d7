import { LOCAL_ACTOR } from "#audit/event.ts";
import type { InstantUs } from "#kernel/clock.ts";

export const PRINCIPAL_KINDS = ["user", "service"] as const;
type PrincipalKind = (typeof PRINCIPAL_KINDS)[number];

export const ROLES = ["member", "admin"] as const;
export type Role = (typeof ROLES)[number];

/** The name that the admin password signs in as; made at first start. */
export const ADMIN_PRINCIPAL_NAME = "admin";

/** A user or a service that calls (specification, section 2.8). */
export interface Principal {
  readonly id: string;
  /** Unique among living principals, and never changed once given. */
  readonly name: string;
  readonly kind: PrincipalKind;
  readonly role: Role;
  /** A disabled principal's keys, relay tokens and sessions stop at once, and come back with it. */
  readonly enabled: boolean;
  readonly createdAtUs: InstantUs;
  /** `name:value` pairs on all of its usage, which no caller can change; sorted by name. */
  readonly tags: readonly string[];
}

/** Whom a command beside the data folder acts as: an admin without an account. */
export const LOCAL_PRINCIPAL: Principal = {
  id: LOCAL_ACTOR.principalId,
  name: "local",
  kind: "user",
  role: "admin",
  enabled: true,
  createdAtUs: 0,
  tags: [],
};

export interface PrincipalChange {
  readonly role?: Role;
  readonly enabled?: boolean;
  readonly tags?: readonly string[];
}
