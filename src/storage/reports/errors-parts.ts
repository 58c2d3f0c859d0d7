import { all, each, gather, type Script } from "#storage/sql/script.ts";
import { BANDS } from "#storage/cells/measures.ts";
import type { ErrorsPart } from "#stats/errors.ts";
import { OTHER, type ReportSubject } from "#stats/grouping.ts";
import { NOT_CHOSEN } from "./cell-sums.ts";
import { foldCombinations } from "./combination-fold.ts";
import type { MeasureSource } from "./measure-sources.ts";
import { findSubjects, getSubject } from "./report-subjects.ts";
import { createSumReader } from "./report-sums.ts";

/** How often each combination ended in each way, in the sources together. Within `orFolded`. */
export function* readErrorsParts(
  sources: readonly MeasureSource[],
  sumsMax: number,
): Script<readonly ErrorsPart[]> {
  const { read } = createSumReader<SumRow>(sumsMax);
  const sums = yield* gather(sources, ({ sql, bindings }) =>
    read(
      `SELECT combination, result, ${ADDED.map((column) => `sum(${column}) AS ${column}`).join(", ")},
         max(last_seen_us) AS last_seen_us
       FROM (${sql}) AS s GROUP BY combination, result`,
      bindings,
    ),
  );
  const subjects = yield* findSubjects(sums.map(({ combination }) => combination));
  const results = yield* findResults();
  return sums.map((sum) =>
    toPart(getSubject(subjects, sum.combination), getResult(results, sum.result), sum),
  );
}

/**
 * The parts of the most used combinations; the rest are put together, and what upstreams call their errors with them, which is
 * as free as a tag. At most `sumsMax` parts but for the few that are put together.
 */
export function* readFoldedErrorsParts(
  sources: readonly MeasureSource[],
  sumsMax: number,
): Script<readonly ErrorsPart[]> {
  const fold = yield* foldCombinations(sources, sumsMax);
  const results = yield* findResults();
  const sums = new Map<string, Growing>();
  let keptCount = 0;
  for (const { sql, bindings } of sources) {
    yield* each<SumRow>(
      `SELECT combination, result, ${ADDED.join(", ")}, last_seen_us FROM (${sql}) AS s`,
      bindings,
      (row) => {
        const kept = fold.keptOf[row.combination] ?? NOT_CHOSEN;
        const ownKey = `${kept} ${row.result}`;
        const isKept = kept !== NOT_CHOSEN && (sums.has(ownKey) || keptCount < sumsMax);
        const result = getResult(results, row.result);
        const group = isKept ? kept : (fold.coarseOf[row.combination] ?? NOT_CHOSEN);
        const key = isKept
          ? ownKey
          : `${group} ${result.outcome} ${result.status_code} ${result.error_kind === null} ${result.failure}`;
        const sum = sums.get(key);
        if (sum !== undefined) {
          add(sum, row);
          return;
        }
        if (isKept) keptCount += 1;
        sums.set(key, { ...row, group, told: isKept ? result : toFoldedResult(result) });
      },
    );
  }
  const found = [...sums.values()];
  const subjects = yield* fold.toSubjects(found.map(({ group }) => group));
  return found.flatMap((sum, index) => {
    const subject = subjects[index];
    return subject === undefined ? [] : [toPart(subject, sum.told, sum)];
  });
}

const ADDED = ["requests", "duration_us", ...BANDS] as const;

type Measures = { readonly [column in (typeof ADDED)[number] | "last_seen_us"]: number };

interface SumRow extends Measures {
  readonly combination: number;
  readonly result: number;
}

type Growing = { -readonly [column in keyof Measures]: number } & {
  readonly group: number;
  readonly told: Result;
};

function add(sum: Growing, row: SumRow): void {
  for (const column of ADDED) sum[column] += row[column];
  sum.last_seen_us = Math.max(sum.last_seen_us, row.last_seen_us);
}

interface Result {
  readonly outcome: string;
  readonly error_kind: string | null;
  readonly status_code: number;
  readonly failure: string | null;
}

function toFoldedResult(result: Result): Result {
  return { ...result, error_kind: result.error_kind === null ? null : OTHER };
}

function* findResults(): Script<ReadonlyMap<number, Result>> {
  const rows = yield* all<Result & { readonly id: number }>(
    "SELECT id, outcome, error_kind, status_code, failure FROM result",
  );
  return new Map(rows.map((row) => [row.id, row]));
}

function getResult(results: ReadonlyMap<number, Result>, id: number): Result {
  const result = results.get(id);
  if (result === undefined) throw new Error("a result is missing");
  return result;
}

function toPart(subject: ReportSubject, result: Result, sum: Measures): ErrorsPart {
  return {
    subject,
    outcome: result.outcome,
    errorKind: result.error_kind,
    statusCode: result.status_code,
    failure: result.failure,
    requests: sum.requests,
    durationUs: sum.duration_us,
    lastSeenUs: sum.last_seen_us,
    bands: BANDS.map((band) => sum[band]),
  };
}
