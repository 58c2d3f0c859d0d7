import type { Principal } from "#identity/principal.ts";
import { formatInstant } from "#kernel/clock.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { type Along, type KeyFacts, type LimitFacts, toLimitFacts } from "#people/people-change.ts";
import type { PeopleDraft } from "#people/people-draft.ts";
import type { PeopleOutcome, PeopleResourceChange } from "#people/people-change.ts";
import type { PeoplePicture } from "#people/store.ts";
import { toAmountView, toEachView, toSubjectView } from "#limits/limit-fields.ts";

/** The sections of a file that carry people: what is left out has its default, and of a section that is left out nothing is said. */
export interface PeopleFile {
  readonly principals?: { readonly [name: string]: FilePrincipal };
  readonly keys?: { readonly [id: string]: FileKey };
  readonly limits?: { readonly [name: string]: FileLimit };
}

export interface FilePrincipal {
  readonly kind?: string;
  readonly role?: string;
  readonly enabled?: boolean;
  readonly tags?: readonly string[];
}

/** `secret` only on the way to a server. */
export interface FileKey {
  readonly principal: string;
  readonly label?: string;
  readonly enabled?: boolean;
  readonly expires_at?: string;
  readonly scope?: string;
  readonly models?: readonly string[];
  readonly tags?: readonly string[];
  /** Where the secret is found when the file is applied; the file itself holds none. */
  readonly secret_env?: string;
  readonly secret_file?: string;
  readonly secret_sha256?: string;
  readonly secret?: string;
}

export interface FileLimit {
  readonly subject?: {
    readonly principal?: string;
    readonly key?: string;
    readonly relay_token?: string;
    readonly tag?: string;
    readonly model?: string;
  };
  readonly each?: string;
  readonly fixed?: boolean;
  readonly measure: string;
  readonly amount: number;
  readonly window?: string;
  readonly action?: string;
  readonly unpriced?: string;
  readonly unknown?: number;
  readonly enabled?: boolean;
}

/** The defaults that a file leaves out, by the kind of resource. Null is never written. */
export const PEOPLE_DEFAULTS = {
  principal: { kind: "user", role: "member", enabled: true, tags: [] },
  key: { label: "", enabled: true, expires_at: null, scope: "full", models: null, tags: [] },
  limit: {
    subject: {},
    each: null,
    fixed: false,
    window: null,
    action: "refuse",
    unpriced: "allow",
    unknown: null,
    enabled: true,
  },
} as const;

/** The file in the words of the rooms that judge it. */
export function toPeopleDraft({ principals, keys, limits }: PeopleFile): PeopleDraft {
  return {
    principals: principals === undefined ? null : Object.entries(principals).map(toPrincipalEntry),
    keys: keys === undefined ? null : Object.entries(keys).map(toKeyEntry),
    limits: limits === undefined ? null : Object.entries(limits).map(toLimitEntry),
  };
}

export function toPrincipalEntry([name, principal]: readonly [string, FilePrincipal]) {
  return { name, ...principal };
}

export function toKeyEntry([id, key]: readonly [string, FileKey]) {
  const { expires_at: expiresAt, secret_sha256: secretSha256, secret_env: _, secret_file: __, ...rest } = key;
  return { id, ...rest, expiresAt, secretSha256 };
}

export function toLimitEntry([name, { subject = {}, ...limit }]: readonly [string, FileLimit]) {
  return { name, subject, ...limit };
}

/** Applied to an empty installation with the secrets of its keys it makes the same principals, keys and limits. */
export function toPeopleFileView({ principals, keys, limits }: PeoplePicture): Required<PeopleFile> {
  const toNamed = <Value>(entries: readonly (readonly [name: string, value: Value])[]) =>
    // In one order, so that the same people are the same text; `fromEntries`, since a limit may be called `__proto__`.
    Object.fromEntries(entries.toSorted(([left], [right]) => compareCodeUnits(left, right)));
  return {
    principals: toNamed(
      principals.map((principal) => [principal.name, toWritten("principal", toPrincipalFacts(principal))]),
    ),
    keys: toNamed(
      keys.map((key) => {
        const { principal, ...facts } = toKeyFacts(key);
        return [key.id, { principal, ...toWritten("key", facts) }];
      }),
    ),
    limits: toNamed(
      limits.map((limit) => {
        const facts = toFacts(toLimitFacts(limit));
        const { measure, amount } = facts;
        return [limit.name, { ...toWritten("limit", facts), measure, amount }];
      }),
    ),
  };
}

type Written<Of> = { -readonly [Field in keyof Of]?: Exclude<Of[Field], null> };

/** Without what has its default. */
function toWritten<Of extends object>(kind: keyof typeof PEOPLE_DEFAULTS, facts: Of): Written<Of>;
function toWritten(kind: keyof typeof PEOPLE_DEFAULTS, facts: object): object {
  const defaults: { readonly [field: string]: unknown } = PEOPLE_DEFAULTS[kind];
  return Object.fromEntries(
    Object.entries(facts).filter(([field, value]) => !Bun.deepEquals(value, defaults[field])),
  );
}

function toPrincipalFacts({ kind, role, enabled, tags }: Principal) {
  return { kind, role, enabled, tags: [...tags] };
}

function toKeyFacts({ principalName, label, terms, tags }: KeyFacts) {
  const { pausedBy, expiresAtUs, scopedBy, models } = terms;
  return {
    principal: principalName,
    label,
    enabled: pausedBy === null,
    expires_at: expiresAtUs === null ? null : formatInstant(expiresAtUs),
    scope: scopedBy === null ? ("full" as const) : ("inference" as const),
    models: models === null ? null : [...models],
    tags: [...tags],
  };
}

function toFacts(limit: LimitFacts) {
  const { each, fixed, measure, amount, window, action, unpriced, unknownMax, enabled } = limit;
  return {
    subject: toSubjectView(limit),
    each: each === null ? null : toEachView(each),
    fixed,
    measure,
    amount: toAmountView(measure, amount),
    window,
    action,
    unpriced,
    unknown: unknownMax,
    enabled,
  };
}

/** The part of people in the answer of `POST /admin/v1/catalog`; no secret is in it, only that one is set. */
export function toPeopleOutcomeView({ changes, kept, skipped }: PeopleOutcome) {
  return { changes: changes.map(toChangeView), kept, skipped: [...skipped] };
}

function toChangeView(change: PeopleResourceChange) {
  const { kind, name } = change;
  const action = change.before === null ? "create" : change.after === null ? "delete" : "update";
  const [before, after] = toBoth(change);
  const isChanged = (field: string) => !Bun.deepEquals(before?.[field], after?.[field]);
  const pick = (facts: Facts | null) =>
    facts === null || before === null || after === null
      ? facts
      : Object.fromEntries(Object.entries(facts).filter(([field]) => isChanged(field)));
  const credential = change.kind === "key" ? { credential: change.credential } : {};
  const along = toAlongView(change.along ?? null);
  return { action, kind, name, before: pick(before), after: pick(after), ...credential, ...along } as const;
}

function toAlongView(along: Along | null) {
  if (along === null) return {};
  const { keys, relayTokens, limits } = along;
  return { along: { keys: [...keys], relay_tokens: [...relayTokens], limits: [...limits] } };
}

type Facts = { readonly [field: string]: unknown };

function toBoth(change: PeopleResourceChange): readonly [before: Facts | null, after: Facts | null] {
  switch (change.kind) {
    case "principal":
      return [ofOne(change.before, toPrincipalFacts), ofOne(change.after, toPrincipalFacts)];
    case "key":
      return [ofOne(change.before, toKeyFacts), ofOne(change.after, toKeyFacts)];
    default:
      return [ofOne(change.before, toFacts), ofOne(change.after, toFacts)];
  }
}

function ofOne<Of>(facts: Of | null, toView: (facts: Of) => Facts): Facts | null {
  return facts === null ? null : toView(facts);
}
