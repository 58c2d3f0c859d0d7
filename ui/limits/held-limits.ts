import type { Limit, OwnLimit } from "../api/limits.ts";

/** Who is asked about, with the ids of what they hold. */
export interface LimitHolder {
  readonly name: string;
  readonly keyIds: readonly string[];
  readonly relayTokenIds: readonly string[];
}

/**
 * The limits that hold for every request of a principal, or for every one with one of its secrets, as `/my/limits` lists
 * them. A tag's hold for single requests: they are not among them.
 */
export function toHeldLimits(limits: readonly Limit[], holder: LimitHolder): readonly Limit[] {
  return limits.filter(
    (limit) => limit.enabled && limit.each?.startsWith("tag:") !== true && isAbout(limit.subject, holder),
  );
}

function isAbout(subject: Limit["subject"], { name, keyIds, relayTokenIds }: LimitHolder): boolean {
  if (subject.tag !== undefined) return false;
  if (subject.principal !== undefined) return subject.principal === name;
  if (subject.key !== undefined) return keyIds.includes(subject.key);
  if (subject.relay_token !== undefined) return relayTokenIds.includes(subject.relay_token);
  return true;
}

/** The names under which a holder's own use of a limit with `each` is found. */
export function toOwnNames({ each }: Limit, { name, keyIds }: LimitHolder): readonly string[] {
  return each === "key" ? keyIds : [name];
}

/** A limit that holds for each separately, with the use of one instead of the highest. */
export function toUsedBy<Told extends OwnLimit>(limit: Told, used: number): Told {
  return { ...limit, used, left: Math.max(0, limit.amount - used) };
}
