import type { AuditEntry } from "#audit/event.ts";
import { ProxyError, type Precondition } from "#kernel/errors.ts";
import { toIdHint } from "#kernel/nearest.ts";
import type { Limit, LimitChange } from "./limit.ts";

/** The limits as they are at one moment, the oldest first. Another state is another object. */
export interface LimitSet {
  readonly limits: readonly Limit[];
}

/** A subject as it was asked for: its principal by name. */
export type NamedSubject =
  | { readonly kind: "everybody" }
  | { readonly kind: "principal"; readonly name: string }
  | { readonly kind: "key"; readonly id: string }
  | { readonly kind: "relay_token"; readonly id: string }
  | { readonly kind: "tag"; readonly pair: string };

export type NewLimit = Omit<Limit, "subject" | "formerModels"> & { readonly subject: NamedSubject };

export interface LimitStore {
  /** What `snapshot` returned last while nothing has changed since, else null. Every request asks. */
  peek(): LimitSet | null;
  /** As of now, including what another process committed just before. */
  snapshot(): Promise<LimitSet>;
  /** Throws `limit_exists`, `too_many_limits`, and `principal_not_found`, `key_not_found` or `relay_token_not_found` with param `subject`. */
  create(limit: NewLimit, audit: AuditEntry | null): Promise<Limit>;
  /** Throws `limit_not_found`, `limit_exists` and what `require` throws. */
  update(
    id: string,
    change: LimitChange,
    audit: AuditEntry | null,
    require?: Precondition<Limit>,
  ): Promise<Limit>;
  /** Throws `limit_not_found` and what `require` throws. */
  delete(id: string, audit: AuditEntry | null, require?: Precondition<Limit>): Promise<void>;
}

/** As many as a list is read through; each is looked at by requests that it holds for. */
export const LIMITS_MAX = 10_000;

/** Throws `limit_not_found`, with the limit that was probably meant. */
export function getLimit(limits: readonly Limit[], id: string): Limit {
  const found = limits.find((limit) => limit.id === id);
  if (found !== undefined) return found;
  throw new ProxyError("limit_not_found", `No limit has this id.${toIdHint(id, limits)}`);
}
