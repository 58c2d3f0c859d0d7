import type { Principal } from "#identity/principal.ts";
import { toHint } from "#kernel/nearest.ts";
import type { LimitChange } from "#limits/limit.ts";
import type { NamedSubject } from "#limits/store.ts";
import type { KeyPlan } from "./key-plan.ts";
import { type ParsedLimit, refuse } from "./people-draft.ts";
import { type LimitFacts, toLimitFacts, type PeopleBirth, type Skipped, type Step } from "./people-change.ts";
import type { PeoplePicture } from "./store.ts";

export interface LimitContext extends PeopleBirth {
  readonly owners: ReadonlyMap<string, Principal>;
  readonly keys: KeyPlan;
}

/** What is left of a limit that a file may change: the rest is what it counts, so that what was used of it stays true. */
const SETTINGS = ["amount", "window", "action", "unpriced", "unknownMax", "enabled"] as const;
/** What it counts, under the names that a file has for it. */
const IDENTITY = [
  ["subject", "subject"],
  ["model", "subject.model"],
  ["each", "each"],
  ["fixed", "fixed"],
  ["measure", "measure"],
] as const;

export function planLimits(
  { limits, relayTokens }: PeoplePicture,
  wanted: readonly ParsedLimit[] | null,
  context: LimitContext,
) {
  const nothing = { steps: [], removals: [], skipped: [], kept: 0 };
  if (wanted === null) return { ...nothing, after: limits.length };
  const byName = new Map(limits.map((limit) => [limit.name, limit]));
  const ownerIds = new Set([...context.owners.values()].map(({ id }) => id));
  // One of a principal that is pruned goes with it.
  const left = relayTokens.filter(({ principalId }) => ownerIds.has(principalId));
  const relayTokenIds = new Set(left.map(({ id }) => id));
  const keyIds = new Set(context.keys.after.map(({ id }) => id));
  const steps: Step[] = [];
  const skipped: Skipped[] = [];
  for (const entry of wanted) {
    const { name } = entry.limit;
    const found = findSubject(entry, { ...context, relayTokenIds, keyIds });
    if ("reason" in found) {
      skipped.push({ kind: "limit", name, reason: found.reason });
      continue;
    }
    const limit = { ...entry.limit, subject: found.subject };
    const before = byName.get(name) ?? null;
    if (before === null) {
      const made = { ...limit, ...context.toBirth("limit", name) };
      steps.push({
        // The key of its subject as the file calls it: another run makes the key under another id.
        change: { kind: "limit", name, before: null, after: { ...made, subject: entry.limit.subject } },
        write: { kind: "create_limit", limit: made, subjectId: found.id },
        audit: [{ action: "limit.create", targetKind: "limit", targetRef: made.id }],
      });
      continue;
    }
    const facts = toLimitFacts(before);
    requireSameIdentity(facts, limit, entry.place);
    const change = toChange(facts, limit);
    if (Object.keys(change).length === 0) continue;
    steps.push({
      change: { kind: "limit", name, before: facts, after: limit },
      write: { kind: "update_limit", id: before.id, change },
      audit: [{ action: "limit.update", targetKind: "limit", targetRef: before.id }],
    });
  }
  const names = new Set(wanted.map(({ limit }) => limit.name));
  const others = limits.filter(({ name }) => !names.has(name));
  const removed = context.isPruned ? others : [];
  const removals = removed.map((limit): Step => ({
    change: { kind: "limit", name: limit.name, before: toLimitFacts(limit), after: null },
    write: { kind: "delete_limit", id: limit.id },
    audit: [{ action: "limit.delete", targetKind: "limit", targetRef: limit.id }],
  }));
  const made = steps.filter(({ write }) => write.kind === "create_limit").length;
  const after = limits.length + made - removed.length;
  return { steps, removals, skipped, after, kept: others.length - removed.length };
}

interface SubjectContext extends LimitContext {
  /** Those that are there when the file is applied. */
  readonly relayTokenIds: ReadonlySet<string>;
  readonly keyIds: ReadonlySet<string>;
}

type FoundSubject =
  /** `id`: of its principal, key or relay token; null for everybody and for a tag. */
  { readonly subject: NamedSubject; readonly id: string | null } | { readonly reason: Skipped["reason"] };

function findSubject(
  { place, limit: { subject } }: ParsedLimit,
  { owners, keys, relayTokenIds, keyIds }: SubjectContext,
): FoundSubject {
  switch (subject.kind) {
    case "principal": {
      const owner = owners.get(subject.name);
      if (owner !== undefined) return { subject, id: owner.id };
      const hint = toHint(subject.name, [...owners.keys()]);
      const message = `Neither the file nor the installation has a principal of this name.${hint}`;
      throw refuse(`${place}.subject.principal`, message, "principal_not_found");
    }
    case "key": {
      const ofFile = keys.ids.get(subject.id);
      if (ofFile === null) return { reason: "no_key" };
      const id = ofFile ?? (keyIds.has(subject.id) ? subject.id : undefined);
      if (id !== undefined) return { subject: { ...subject, id }, id };
      const hint = toHint(subject.id, [...keys.ids.keys()]);
      const message = `Neither the file nor the installation has a key under this id.${hint}`;
      throw refuse(`${place}.subject.key`, message, "key_not_found");
    }
    case "relay_token":
      return relayTokenIds.has(subject.id) ? { subject, id: subject.id } : { reason: "no_relay_token" };
    default:
      return { subject, id: null };
  }
}

function requireSameIdentity(before: LimitFacts, after: LimitFacts, place: string): void {
  for (const [field, path] of IDENTITY) {
    if (Bun.deepEquals(before[field], after[field])) continue;
    const message = `A limit of this name exists already, and its ${path} differs, which is what a limit is: give this one another name, or remove the one that exists first.`;
    throw refuse(`${place}.${path}`, message, "limit_exists");
  }
}

function toChange(before: LimitFacts, after: LimitFacts): LimitChange {
  return Object.fromEntries(
    SETTINGS.filter((field) => before[field] !== after[field]).map((field) => [field, after[field]]),
  );
}
