import { OTHER, REPORT_ROWS_MAX, type ReportSubject } from "#stats/grouping.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import type { Fold } from "./fold.ts";
import { type GroupLabel, type LabelGroups, NOT_CHOSEN } from "./label-groups.ts";

/** The fields that a summary or a report on errors tells apart. */
export type SubjectField = Exclude<keyof ReportSubject, "keyId" | "providerId"> | "provider" | "relay";

const LABEL_OF: { readonly [field in SubjectField]: GroupLabel } = {
  principal: { label: "principal_name" },
  provider: { label: "provider_id" },
  // Where providers are not told apart: what callers of the relay make up is put together first.
  relay: { label: "provider_id", toValue: (id) => (id === RELAY_PROVIDER ? id : "") },
  model: { label: "model" },
  endpoint: { label: "endpoint" },
  client: { label: "client" },
  tags: { label: "tags", toValue: (tags) => parseStoredTags(tags ?? "[]").tags.join(",") },
};

export function toSubjectLabels(fields: readonly SubjectField[]): readonly GroupLabel[] {
  return fields.map((field) => LABEL_OF[field]);
}

/** The subject of each group; what it is not grouped by is left empty. */
export function toSubjects(groups: LabelGroups, fields: readonly SubjectField[]): readonly ReportSubject[] {
  return groups.values.map((values) => {
    const find = (field: SubjectField) => values[fields.indexOf(field)] ?? null;
    return {
      principal: find("principal") ?? "",
      keyId: null,
      providerId: find("provider") ?? find("relay") ?? "",
      model: find("model"),
      endpoint: find("endpoint") ?? "",
      client: find("client"),
      tags: find("tags") ?? "",
    };
  });
}

/** Groups of what is used least; past it they are told apart by principal alone. */
const COARSE_GROUPS_MAX = 5_000;
/** Subjects that keep to themselves. */
const KEPT_MAX = REPORT_ROWS_MAX - COARSE_GROUPS_MAX;

/**
 * Puts the subjects of a report with too many sums for memory together: the most used keep to themselves, of the rest clients
 * and tags become `(other)`, and so do models and paths of the relay, which callers choose as freely. Nothing is left out of
 * the sums.
 */
export interface LeastUsed {
  /** By group itself, or `NOT_CHOSEN` where it does not keep to itself. */
  readonly keptOf: Int32Array;
  /** By group one of `subjects`, or `NOT_CHOSEN` where it keeps to itself. */
  readonly restOf: Int32Array;
  readonly subjects: readonly ReportSubject[];
}

/** Splits the groups of a fold by subject that has more sums than `sumsMax`: the most used are kept. */
export function splitLeastUsed(fold: Fold, subjects: readonly ReportSubject[], sumsMax: number): LeastUsed {
  const uses = new Float64Array(subjects.length);
  const sumsOf = new Float64Array(subjects.length);
  for (const { group, requests } of fold.sums()) {
    uses[group] = (uses[group] ?? 0) + requests;
    sumsOf[group] = (sumsOf[group] ?? 0) + 1;
  }
  const isKept = chooseMostUsed(uses, sumsOf, sumsMax);
  const drop = (toSubject: (subject: ReportSubject) => ReportSubject) =>
    putTogether(
      subjects.map((subject, group) => (uses[group] === 0 ? null : toSubject(subject))),
      ({ principal, providerId, endpoint, model }) => [principal, providerId, endpoint, model].join("\n"),
    );
  const coarse = drop(dropChosenFreely);
  const { numberOf, items } = coarse.items.length > COARSE_GROUPS_MAX ? drop(dropAllButPrincipal) : coarse;
  return {
    keptOf: Int32Array.from(isKept, (kept, group) => (kept === 1 ? group : NOT_CHOSEN)),
    restOf: numberOf.map((number, group) => (isKept[group] === 1 ? NOT_CHOSEN : number)),
    subjects: items,
  };
}

/** Numbers items: those of one key have one number, by which `items` has the first of them. */
export function putTogether<Item>(
  all: readonly (Item | null)[],
  toKey: (item: Item) => string,
): { readonly numberOf: Int32Array; readonly items: readonly Item[] } {
  const numbers = new Map<string, number>();
  const items: Item[] = [];
  const numberOf = Int32Array.from(all, (item) => {
    if (item === null) return NOT_CHOSEN;
    const key = toKey(item);
    const number = numbers.get(key) ?? items.push(item) - 1;
    numbers.set(key, number);
    return number;
  });
  return { numberOf, items };
}

/** Where several are used equally often, the first are chosen. */
function chooseMostUsed(uses: Float64Array, sumsOf: Float64Array, sumsMax: number): Uint8Array {
  const kept = new Uint8Array(uses.length);
  const byUse = Uint32Array.from(uses.keys()).sort(
    (one, other) => (uses[other] ?? 0) - (uses[one] ?? 0) || one - other,
  );
  let left = sumsMax;
  for (const group of byUse.subarray(0, KEPT_MAX)) {
    left -= sumsOf[group] ?? 0;
    if (left < 0) break;
    kept[group] = 1;
  }
  return kept;
}

const FOLDED = { keyId: null, client: OTHER, tags: OTHER };

function dropChosenFreely({ principal, providerId, model, endpoint }: ReportSubject): ReportSubject {
  const isRelayed = providerId === RELAY_PROVIDER;
  return {
    ...FOLDED,
    principal,
    providerId,
    model: isRelayed && model !== null ? OTHER : model,
    endpoint: isRelayed ? OTHER : endpoint,
  };
}

/** A request without a model stays one: it is no usage of any. */
function dropAllButPrincipal({ principal, model }: ReportSubject): ReportSubject {
  return { ...FOLDED, principal, providerId: OTHER, model: model === null ? null : OTHER, endpoint: OTHER };
}
