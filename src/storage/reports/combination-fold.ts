import { each, type Script } from "#storage/sql/script.ts";
import { OTHER, REPORT_ROWS_MAX, type ReportSubject } from "#stats/grouping.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import { NOT_CHOSEN } from "./cell-sums.ts";
import type { MeasureSource } from "./measure-sources.ts";
import { findLastCombination } from "./last-combination.ts";
import { findSubjects, getSubject } from "./report-subjects.ts";

/** Groups of what is used least; past it they are told apart by principal alone. */
const COARSE_GROUPS_MAX = 5_000;
/** Combinations that keep to themselves. */
const KEPT_MAX = REPORT_ROWS_MAX - COARSE_GROUPS_MAX;

/**
 * How a report with too many combinations for memory puts them together: the most used keep to themselves, of the rest
 * clients and tags become `(other)`, and so do models and paths of the relay, which callers choose as freely. Nothing is left
 * out of the sums.
 */
export interface CombinationFold {
  /** By the combination's id; `NOT_CHOSEN` for one that is not used, or does not keep to itself. */
  readonly keptOf: Int32Array;
  /** By the combination's id, also of those that keep to themselves: its group among the rest, above every id. */
  readonly coarseOf: Int32Array;
  /** The subjects of combinations that keep to themselves, and of groups. */
  toSubjects(groups: readonly number[]): Script<readonly ReportSubject[]>;
}

/** Reads the sources row by row, twelve bytes for each combination there is. */
export function* foldCombinations(
  sources: readonly MeasureSource[],
  sumsMax: number,
): Script<CombinationFold> {
  const uses = yield* countUses(sources);
  const keptOf = chooseMostUsed(uses, Math.min(sumsMax, KEPT_MAX));
  const { coarseOf, subjects } = (yield* toCoarse(uses, {
    toSubject: dropChosenFreely,
    groupsMax: COARSE_GROUPS_MAX,
  })) ??
    (yield* toCoarse(uses, { toSubject: dropAllButPrincipal, groupsMax: Number.POSITIVE_INFINITY })) ?? {
      coarseOf: new Int32Array(uses.length),
      subjects: [],
    };
  return {
    keptOf,
    coarseOf,
    *toSubjects(groups) {
      const kept = yield* findSubjects(groups.filter((group) => group < uses.length));
      return groups.map((group) => subjects[group - uses.length] ?? getSubject(kept, group));
    },
  };
}

/** Requests by the combination's id. */
function* countUses(sources: readonly MeasureSource[]): Script<Float64Array> {
  const last = yield* findLastCombination();
  const uses = new Float64Array(last + 1);
  for (const { sql, bindings } of sources) {
    yield* each<{ combination: number; requests: number }>(
      `SELECT combination, requests FROM (${sql}) AS s`,
      bindings,
      ({ combination, requests }) => {
        uses[combination] = (uses[combination] ?? 0) + requests;
      },
    );
  }
  return uses;
}

/** Where several are used equally often, the oldest are chosen. */
function chooseMostUsed(uses: Float64Array, keptMax: number): Int32Array {
  const kept = new Int32Array(uses.length).fill(NOT_CHOSEN);
  const least = uses.toSorted().at(-keptMax) ?? 0;
  let left = keptMax - uses.reduce((count, requests) => count + Number(requests > least), 0);
  for (const [id, requests] of uses.entries()) {
    if (requests === 0 || requests < least) continue;
    if (requests === least && (left -= 1) < 0) continue;
    kept[id] = id;
  }
  return kept;
}

type CombinationRow = Pick<ReportSubject, "principal" | "model" | "endpoint"> & {
  readonly id: number;
  readonly provider: string;
};

interface Coarse {
  readonly coarseOf: Int32Array;
  readonly subjects: readonly ReportSubject[];
}

/** Null when there are more than `groupsMax` groups. */
function* toCoarse(
  uses: Float64Array,
  {
    toSubject,
    groupsMax,
  }: { readonly toSubject: (row: CombinationRow) => ReportSubject; readonly groupsMax: number },
): Script<Coarse | null> {
  const coarseOf = new Int32Array(uses.length).fill(NOT_CHOSEN);
  const subjects: ReportSubject[] = [];
  const groups = new Map<string, number>();
  let isTooMany = false;
  yield* each<CombinationRow>(
    "SELECT id, principal_name AS principal, provider_id AS provider, model, endpoint FROM combination",
    [],
    (row) => {
      if (isTooMany || uses[row.id] === 0) return;
      const subject = toSubject(row);
      const key = `${subject.principal}\n${subject.providerId}\n${subject.endpoint}\n${subject.model ?? ""}`;
      let group = groups.get(key);
      if (group === undefined) {
        isTooMany = groups.size >= groupsMax;
        if (isTooMany) return;
        group = uses.length + subjects.length;
        groups.set(key, group);
        subjects.push(subject);
      }
      coarseOf[row.id] = group;
    },
  );
  return isTooMany ? null : { coarseOf, subjects };
}

const FOLDED = { keyId: null, client: OTHER, tags: OTHER };

function dropChosenFreely({
  principal,
  provider: providerId,
  model,
  endpoint,
}: CombinationRow): ReportSubject {
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
function dropAllButPrincipal({ principal, model }: CombinationRow): ReportSubject {
  return { ...FOLDED, principal, providerId: OTHER, model: model === null ? null : OTHER, endpoint: OTHER };
}
