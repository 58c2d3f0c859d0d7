import { type Actor, toAuditEntry } from "#audit/event.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import type { Principal } from "#identity/principal.ts";
import { SECRETS_PER_PRINCIPAL_MAX } from "#identity/secret.ts";
import { LIMITS_MAX } from "#limits/store.ts";
import { planKeys } from "./key-plan.ts";
import { planLimits } from "./limit-plan.ts";
import { type ParsedPrincipal, parsePeopleDraft, type PeopleDraft, refuse } from "./people-draft.ts";
import type { KeyFacts, PeopleBirth, PeopleOutcome, Step } from "./people-change.ts";
import type { PeoplePicture, PeoplePlan, PeopleWrite, StoredKey } from "./store.ts";

/**
 * Brings principals, keys and limits to what a file has of them, by the rules of their own routes and as an admin. Each section
 * that the file does not have is left alone. Throws at once what `parsePeopleDraft` throws; the plan throws `principal_exists` and
 * `limit_exists` for what differs in what never changes, `principal_not_found` and `key_not_found` for what neither the file nor
 * the installation has, `too_many_keys`, `too_many_limits`, and `last_admin`, which is judged of the end.
 */
export function planPeople(draft: PeopleDraft, birth: PeopleBirth): PeoplePlan<PeopleOutcome> {
  const parsed = parsePeopleDraft(draft);
  return (current) => {
    const principals = planPrincipals(current, parsed.principals, birth);
    requireAdminLeft(current.principals, principals.after);
    const owners = new Map(principals.after.map((principal) => [principal.name, principal]));
    // What its owner has made for itself stays with an owner that a file need not have.
    const isKept = ({ principalId }: StoredKey) => isAlwaysKept(current, principalId, birth.actor);
    const keys = planKeys(current, parsed.keys, { ...birth, owners, isKept });
    requireFewKeys(keys.after, owners);
    const limits = planLimits(current, parsed.limits, { ...birth, owners, keys });
    if (limits.after > LIMITS_MAX)
      throw refuse("limits", `There are ${LIMITS_MAX} limits at most: remove some first.`, "too_many_limits");
    const removals = [...limits.removals, ...keys.removals, ...principals.removals];
    const steps = [...principals.steps, ...keys.steps, ...limits.steps, ...tellAlong(removals, current)];
    return {
      writes: steps.map(({ write }) => write),
      audit: steps.flatMap(({ audit }) => audit.flatMap((entry) => toAuditEntry(birth.actor, entry) ?? [])),
      result: {
        changes: steps.map(({ change }) => change),
        skipped: [...keys.skipped, ...limits.skipped],
        kept: { principals: principals.kept, keys: keys.kept, limits: limits.kept },
      },
    };
  };
}

/** Removals with what goes with each by the schema's own rules, and has no change of its own. */
function tellAlong(removals: readonly Step[], { keys, relayTokens, limits }: PeoplePicture): readonly Step[] {
  const told = new Set(removals.flatMap(({ write }) => ("id" in write ? write.id : [])));
  const untold = <Row extends { readonly id: string }>(rows: readonly Row[]) =>
    rows.filter(({ id }) => !told.has(id));
  const keysByOwner = Map.groupBy(untold(keys), ({ principalId }) => principalId);
  const tokensByOwner = Map.groupBy(untold(relayTokens), ({ principalId }) => principalId);
  const limitsBySubject = Map.groupBy(untold(limits), ({ subject }) => ("id" in subject ? subject.id : null));
  return removals.map((step) => {
    const { write, change } = step;
    if (write.kind !== "delete_principal" && write.kind !== "delete_key") return step;
    const secrets = {
      keys: keysByOwner.get(write.id) ?? [],
      relayTokens: tokensByOwner.get(write.id) ?? [],
    };
    const subjects = [write, ...secrets.keys, ...secrets.relayTokens];
    const along = {
      keys: secrets.keys.map(toLabel),
      relayTokens: secrets.relayTokens.map(toLabel),
      limits: subjects.flatMap(({ id }) => limitsBySubject.get(id) ?? []).map(({ name }) => name),
    };
    const isAlone = Object.values(along).every(({ length }) => length === 0);
    return { ...step, change: { ...change, along: isAlone ? null : along } };
  });
}

function toLabel({ id, label }: Pick<StoredKey, "id" | "label">): string {
  return label === "" ? id : label;
}

/** Principals of single sign-on come and go by themselves, and who applies a file must not be locked out by it. */
function isAlwaysKept({ ssoIds }: PeoplePicture, principalId: string, actor: Actor): boolean {
  return ssoIds.has(principalId) || principalId === actor?.principalId;
}

function planPrincipals(
  current: PeoplePicture,
  wanted: readonly ParsedPrincipal[] | null,
  { isPruned, toBirth, actor }: PeopleBirth,
) {
  if (wanted === null) return { steps: [], removals: [], after: current.principals, kept: 0 };
  const byName = new Map(current.principals.map((principal) => [principal.name, principal]));
  const steps: Step[] = [];
  const after: Principal[] = [];
  for (const entry of wanted) {
    const step = toPrincipalStep(byName.get(entry.name) ?? null, entry, toBirth);
    after.push(step.after);
    if (step.write !== null) steps.push({ ...step, write: step.write });
  }
  const names = new Set(wanted.map(({ name }) => name));
  const others = current.principals.filter(({ name }) => !names.has(name));
  const removable = others.filter(({ id }) => !isAlwaysKept(current, id, actor));
  const removed = new Set(isPruned ? removable : []);
  const left = others.filter((principal) => !removed.has(principal));
  const removals = [...removed].map((principal): Step => ({
    change: { kind: "principal", name: principal.name, before: principal, after: null },
    write: { kind: "delete_principal", id: principal.id },
    audit: [{ action: "principal.delete", targetKind: "principal", targetRef: principal.id }],
  }));
  return { steps, removals, after: [...after, ...left], kept: removable.length - removed.size };
}

function toPrincipalStep(
  before: Principal | null,
  { place, name, kind, wanted }: ParsedPrincipal,
  toBirth: PeopleBirth["toBirth"],
) {
  if (before !== null && kind !== null && kind !== before.kind) {
    const message = `A principal of this name exists already, and is a ${before.kind}, which never changes.`;
    throw refuse(`${place}.kind`, message, "principal_exists");
  }
  const made = before ?? { ...toBirth("principal", name), name, kind: kind ?? "user", ...wanted };
  const after = { ...made, ...wanted };
  const isSame = before !== null && Bun.deepEquals(before, after);
  const write: PeopleWrite | null = isSame
    ? null
    : before === null
      ? { kind: "create_principal", principal: after }
      : { kind: "update_principal", id: after.id, change: wanted };
  const action = before === null ? "principal.create" : "principal.update";
  return {
    after,
    write,
    change: { kind: "principal", name, before, after } as const,
    audit: [{ action, targetKind: "principal", targetRef: after.id } as const],
  };
}

function requireAdminLeft(before: readonly Principal[], after: readonly Principal[]): void {
  const isAdmin = ({ role, enabled }: Principal) => role === "admin" && enabled;
  const [last] = before.filter(isAdmin).toSorted((left, right) => compareCodeUnits(left.name, right.name));
  if (last === undefined || after.some(isAdmin)) return;
  const message = `With this file no enabled admin would be left, and "${last.name}" is one now: give a principal of it the role admin.`;
  throw refuse("principals", message, "last_admin");
}

function requireFewKeys(
  keys: readonly KeyFacts[],
  owners: ReadonlyMap<string, Pick<Principal, "name">>,
): void {
  const byOwner = Map.groupBy(keys, ({ principalName }) => principalName);
  for (const [name, owned] of byOwner) {
    if (owned.length <= SECRETS_PER_PRINCIPAL_MAX || !owners.has(name)) continue;
    const message = `A principal has ${SECRETS_PER_PRINCIPAL_MAX} keys at most, and "${name}" would have ${owned.length}.`;
    throw refuse("keys", message, "too_many_keys");
  }
}
