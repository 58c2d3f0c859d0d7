import type { AuditEntry } from "#audit/event.ts";
import type { Principal } from "#identity/principal.ts";
import { listHashes } from "#identity/caller.ts";
import {
  type NewSecret,
  toDigestText,
  toSuffix,
  NO_TERMS,
  reviseTerms,
  type SecretTerms,
  type TermsChange,
} from "#identity/secret.ts";
import type { Rotation } from "#identity/store.ts";
import { toHint } from "#kernel/nearest.ts";
import { type KeySecret, type ParsedKey, refuse } from "./people-draft.ts";
import { type KeyFacts, toKeyFacts, type PeopleBirth, type Skipped, type Step } from "./people-change.ts";
import type { PeoplePicture, PeopleWrite, StoredKey } from "./store.ts";

export interface KeyContext extends PeopleBirth {
  /** By name, as the file leaves them. */
  readonly owners: ReadonlyMap<string, Principal>;
  /** Whether a key stays that the file does not have, also where it is pruned. */
  readonly isKept: (key: StoredKey) => boolean;
}

export interface KeyPlan {
  readonly steps: readonly Step[];
  readonly removals: readonly Step[];
  readonly skipped: readonly Skipped[];
  readonly after: readonly KeyFacts[];
  /** What the ids of the file mean; null for a key that was skipped. */
  readonly ids: ReadonlyMap<string, string | null>;
  readonly kept: number;
}

export function planKeys(
  { keys }: PeoplePicture,
  wanted: readonly ParsedKey[] | null,
  context: KeyContext,
): KeyPlan {
  const left = new Set(keys.filter(({ principalName }) => context.owners.has(principalName)));
  const nothing = { steps: [], removals: [], skipped: [], ids: new Map<string, never>(), kept: 0 };
  if (wanted === null) return { ...nothing, after: [...left] };
  const find = createFinder(keys, wanted);
  const holders = toHolders(keys);
  requireOneName(wanted);
  const ids = new Map<string, string | null>();
  const [steps, skipped, after]: [Step[], Skipped[], KeyFacts[]] = [[], [], []];
  const found = new Set<StoredKey>();
  for (const entry of wanted) {
    const owner = context.owners.get(entry.owner);
    if (owner === undefined) throw refuseOwner(entry, context);
    const before = find(entry);
    const secret = findSecret(entry, before, { holders, context });
    if (before === null && secret === "kept") {
      ids.set(entry.id, null);
      skipped.push({ kind: "key", name: entry.id, reason: "no_secret" });
      continue;
    }
    if (secret === "former") skipped.push({ kind: "key", name: entry.id, reason: "former_secret" });
    if (before !== null) found.add(before);
    const rotation = typeof secret === "string" ? null : secret;
    const step = toStep(entry, before, { rotation, owner, context });
    ids.set(entry.id, step.after.id);
    after.push(step.after);
    if (step.write !== null) steps.push({ ...step, write: step.write });
  }
  const others = keys.filter((key) => !found.has(key));
  const removable = others.filter((key) => !context.isKept(key));
  const removed = new Set(context.isPruned ? removable : []);
  const stays = others.filter((key) => left.has(key) && !removed.has(key));
  return {
    steps,
    removals: [...removed].map(toRemoval),
    skipped,
    after: [...after, ...stays],
    ids,
    kept: removable.length - removed.size,
  };
}

/** Two names of one owner and label would be one key, or two that no later file can tell apart. */
function requireOneName(wanted: readonly ParsedKey[]): void {
  const names = new Map<string, string>();
  for (const { place, id, hasUuid, owner, label } of wanted) {
    if (hasUuid) continue;
    const first = names.getOrInsert(toNames(owner, label), id);
    if (first !== id) throw refuse(place, `It is the same key as "${first}": of one owner, with one label.`);
  }
}

function toNames(owner: string, label: string): string {
  return JSON.stringify([owner, label]);
}

/** By its id; under a name, by its owner and its label. */
function createFinder(keys: readonly StoredKey[], wanted: readonly ParsedKey[]) {
  const byId = new Map(keys.map((key) => [key.id, key]));
  const named = new Set(wanted.map(({ id }) => id));
  const byNames = Map.groupBy(
    keys.filter(({ id }) => !named.has(id)),
    ({ principalName, label }) => toNames(principalName, label),
  );
  return ({ place, id, hasUuid, owner, label }: ParsedKey): StoredKey | null => {
    if (!hasUuid) {
      const [key = null, ...others] = byNames.get(toNames(owner, label)) ?? [];
      if (others.length === 0) return key;
      throw refuse(
        place,
        `"${owner}" has several keys with this label: write the id of the one that is meant.`,
      );
    }
    const key = byId.get(id) ?? null;
    if (key === null || key.principalName === owner) return key;
    throw refuse(`${place}.principal`, `This key is of "${key.principalName}", and a key keeps its owner.`);
  };
}

function refuseOwner({ place, owner }: ParsedKey, { owners }: KeyContext) {
  const hint = toHint(owner, [...owners.keys()]);
  const message = `Neither the file nor the installation has a principal of this name.${hint}`;
  return refuse(`${place}.principal`, message, "principal_not_found");
}

/** By every hash, a key that has it now before one that had it. */
function toHolders(keys: readonly StoredKey[]): Map<string, StoredKey> {
  const former = keys.flatMap((key) => (key.formerHash === null ? [] : [[key.formerHash, key] as const]));
  return new Map([...former, ...keys.map((key) => [key.hash, key] as const)]);
}

/** `kept`: the file has none, or the one that is stored. `former`: the one before, which a file must not bring back. */
function findSecret(
  { place, secret }: ParsedKey,
  before: StoredKey | null,
  {
    holders,
    context: { secrets },
  }: { readonly holders: Map<string, StoredKey>; readonly context: KeyContext },
): Rotation | "kept" | "former" {
  if (secret === null) return "kept";
  const hashes = toHashes(secret, secrets);
  const [hash = ""] = hashes;
  // A secret that came by its SHA-256 in place of its plaintext is both the present one and the former one.
  const held =
    hashes.find((known) => holders.get(known)?.hash === known) ?? hashes.find((known) => holders.has(known));
  const holder = held === undefined ? undefined : holders.get(held);
  if (holder === undefined) {
    const suffix = secret.kind === "plaintext" ? toSuffix(secret.text) : "";
    const rotation: Rotation = { hash, suffix, formerUntilUs: null };
    // Two entries of one file may not share a secret either, be it a plaintext in one and a SHA-256 in the other.
    for (const known of hashes) holders.set(known, before ?? NO_KEY);
    return rotation;
  }
  if (holder !== before) {
    const field = secret.kind === "plaintext" ? "secret" : "secret_sha256";
    const whose = holder === NO_KEY ? "Another key of this file" : `Another key, ${holder.id},`;
    throw refuse(`${place}.${field}`, `${whose} has this secret. Give each key one of its own.`);
  }
  return held === holder.hash ? "kept" : "former";
}

/** Stands for a key that is about to be made. */
const NO_KEY: StoredKey = {
  id: "",
  principalId: "",
  principalName: "",
  hash: "",
  formerHash: null,
  suffix: "",
  label: "",
  createdAtUs: 0,
  terms: NO_TERMS,
  tags: [],
};

/** What the secret may be stored under, first what it is stored under now. */
function toHashes(secret: KeySecret, secrets: PeopleBirth["secrets"]): readonly string[] {
  if (secret.kind === "plaintext") return listHashes(secrets, secret.text);
  const text = toDigestText(secret.hex);
  return [secrets.hashToken(text), ...secrets.formerHashes(text)];
}

interface StepContext {
  readonly rotation: Rotation | null;
  readonly owner: Principal;
  readonly context: KeyContext;
}

function toStep(
  { id: name, hasUuid, label, tags, terms: asked }: ParsedKey,
  before: StoredKey | null,
  { rotation, owner, context }: StepContext,
) {
  const terms = reviseTerms(
    before?.terms ?? NO_TERMS,
    toDifference(before?.terms ?? NO_TERMS, asked),
    "admin",
  );
  const birth = context.toBirth("key", name);
  const id = before?.id ?? (hasUuid ? name : birth.id);
  const after = { id, principalName: owner.name, label, terms, tags };
  const isSame =
    before !== null && before.label === label && Bun.deepEquals([before.terms, before.tags], [terms, tags]);
  const change = {
    kind: "key",
    name,
    before: before === null ? null : toKeyFacts(before),
    after,
    credential: rotation === null ? "kept" : "set",
  } as const;
  const toAudit = (
    action: "key.create" | "key.update" | "key.rotate",
  ): Omit<AuditEntry, "actorPrincipalId"> => ({
    action,
    targetKind: "api_key",
    targetRef: id,
  });
  if (before === null && rotation !== null) {
    const { hash, suffix } = rotation;
    const { createdAtUs } = birth;
    const key: NewSecret = { id, principalId: owner.id, hash, suffix, label, createdAtUs, terms, tags };
    return { after, change, write: { kind: "create_key", key } as const, audit: [toAudit("key.create")] };
  }
  const write: PeopleWrite | null =
    isSame && rotation === null
      ? null
      : {
          kind: "update_key",
          id,
          change: { ...(!isSame && { label, terms, tags }), ...(rotation !== null && { rotation }) },
        };
  return {
    after,
    change,
    write,
    audit: [
      ...(isSame ? [] : [toAudit("key.update")]),
      ...(rotation === null ? [] : [toAudit("key.rotate")]),
    ],
  };
}

/**
 * What the file asks of the terms, where it differs. What the file does not speak of is lifted where it is as an admin has set it;
 * what the owner has narrowed stays: a file that knows nothing of a leak must not resume the key that its owner has paused for it.
 */
function toDifference(before: SecretTerms, asked: TermsChange): TermsChange {
  const { expiresAtUs = before.expiresAtUs === before.adminExpiresAtUs ? null : before.expiresAtUs } = asked;
  const { models = isSameSet(before.models, before.adminModels) ? null : before.models } = asked;
  const { enabled = before.pausedBy !== "owner" } = asked;
  const { scope = before.scopedBy === "owner" ? "inference" : "full" } = asked;
  return {
    ...(expiresAtUs !== before.expiresAtUs && { expiresAtUs }),
    ...(!isSameSet(models, before.models) && { models }),
    ...(enabled !== (before.pausedBy === null) && { enabled }),
    ...((scope === "full") !== (before.scopedBy === null) && { scope }),
  };
}

function isSameSet(one: ReadonlySet<string> | null, other: ReadonlySet<string> | null): boolean {
  if (one === null || other === null) return one === other;
  return one.symmetricDifference(other).size === 0;
}

function toRemoval(key: StoredKey): Step {
  return {
    change: { kind: "key", name: key.id, before: toKeyFacts(key), after: null, credential: "removed" },
    write: { kind: "delete_key", id: key.id },
    audit: [{ action: "key.delete", targetKind: "api_key", targetRef: key.id }],
  };
}
