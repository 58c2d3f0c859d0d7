import type { Database } from "bun:sqlite";
import { VALUE_OF_COMBINATION } from "#storage/sqlite/ledger/file/dimension-kinds.ts";
import type { GroupSql } from "./group-values.ts";
import type { ResolvedFilter } from "./request-filter.ts";
import type { Span } from "#storage/ledger/windows/window-cut.ts";

/** Rows `t` of totals by day, with the measures of `hour_total`: the FROM of a SELECT. */
export interface SealedSource {
  readonly from: string;
  readonly bindings: readonly (string | number)[];
  /** The column of the day to group by. */
  readonly day: string;
  /** The column of the outcome. */
  readonly outcome: string;
  /** The column of the group; a constant where there are none. */
  readonly group: string;
}

/**
 * True when a filter is by one dimension (and outcome), and any of the values that it asks for has totals: what
 * `toSealedSources` then adds up. Within one `readTransaction`, after `resolveFilter`: it makes temporary tables.
 */
export function findDimensions(database: Database, { dimension }: ResolvedFilter): boolean {
  if (dimension === null) return false;
  clearDimensions(database);
  const { changes } = database
    .query<unknown, (string | number)[]>(
      `INSERT INTO chosen_dimension SELECT id, first_day, 0 FROM dimension WHERE kind = ? AND ${dimension.sql}`,
    )
    .run(dimension.kind, ...dimension.bindings);
  return changes > 0;
}

function clearDimensions(database: Database): void {
  database.run(
    `CREATE TEMP TABLE IF NOT EXISTS chosen_dimension (id INTEGER PRIMARY KEY, first_day INTEGER, group_id INTEGER)`,
  );
  database.run("DELETE FROM chosen_dimension");
}

/**
 * Where sealed days are added up for a filter with `findDimensions`: in the totals of its values, and, for what has none or
 * had none yet on a day, in those of its combinations, which are few then. The two do not overlap.
 */
export function toSealedSources(
  database: Database,
  filter: ResolvedFilter,
  span: Span,
): readonly SealedSource[] {
  saveRest(database, filter, span);
  return listSources(database, filter, span);
}

/**
 * Where sealed days are added up by group, for a filter by outcome only and after `saveGroups`: every value of the groups'
 * kind is chosen, and the rest are the combinations whose value has no totals of its own.
 */
export function toGroupedSources(
  database: Database,
  { kind, ofDimension, dimensionOfCombination, bindings }: GroupSql,
  { filter, span }: { readonly filter: ResolvedFilter; readonly span: Span },
): readonly SealedSource[] {
  clearDimensions(database);
  database
    .query<unknown, string[]>(
      `INSERT INTO chosen_dimension SELECT d.id, d.first_day, v.group_id
       FROM dimension AS d CROSS JOIN (SELECT DISTINCT group_id, value FROM combination_group) AS v
         ON v.value = ${ofDimension}
       WHERE d.kind = '${kind}'`,
    )
    .run(...bindings);
  clearRest(database);
  database
    .query<unknown, (string | number)[]>(
      `INSERT INTO chosen_rest SELECT c.id, ifnull(v.first_day, ${NEVER}), g.group_id
       FROM combination_group AS g CROSS JOIN combination AS c ON c.id = g.id
       LEFT JOIN dimension AS v ON v.kind = '${kind}' AND v.value = ${dimensionOfCombination}
       WHERE v.first_day IS NULL OR v.first_day > ${span.first}`,
    )
    .run(...bindings);
  return listSources(database, filter, span);
}

function listSources(database: Database, filter: ResolvedFilter, span: Span): readonly SealedSource[] {
  saveDays(database, span);
  const isChosen = filter.outcomes === null ? "" : "AND t.outcome IN (SELECT value FROM json_each(?))";
  return [
    {
      from: `chosen_day AS d CROSS JOIN chosen_dimension AS v ON v.first_day <= d.day
         CROSS JOIN dimension_total AS t ON t.day = d.day AND t.dimension = v.id ${isChosen}`,
      bindings: filter.outcomes === null ? [] : [JSON.stringify(filter.outcomes)],
      day: "d.day",
      outcome: "t.outcome",
      group: "v.group_id",
    },
    {
      from: `chosen_rest AS c CROSS JOIN sealed_day_total AS t
           ON t.combination = c.id AND t.day >= ? AND t.day < min(c.end_day, ?)
         CROSS JOIN result AS r ON r.id = t.result ${filter.resultCondition}`,
      bindings: [span.first, span.end],
      day: "t.day",
      outcome: "r.outcome",
      group: "c.group_id",
    },
  ];
}

// Read day by day: the table begins with the day, so that a new day is added at its end.
function saveDays(database: Database, { first, end }: Span): void {
  database.run("CREATE TEMP TABLE IF NOT EXISTS chosen_day (day INTEGER PRIMARY KEY)");
  database.run("DELETE FROM chosen_day");
  database
    .query<unknown, [number, number]>(
      `WITH RECURSIVE days (day) AS (SELECT ? UNION ALL SELECT day + 1 FROM days WHERE day + 1 < ?)
       INSERT INTO chosen_day SELECT day FROM days`,
    )
    .run(first, end);
}

/** After every day there is. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The combinations whose value has no totals of the days before `end_day`. */
function saveRest(database: Database, { dimension }: ResolvedFilter, { first }: Span): void {
  clearRest(database);
  if (dimension === null) return;
  if (dimension.kind === "tag") {
    // One tag is one value, of all of them.
    database
      .query<unknown, [number]>(
        `INSERT INTO chosen_rest SELECT c.id, v.first_day, 0
         FROM chosen_dimension AS v CROSS JOIN chosen_combination AS c WHERE v.first_day > ?`,
      )
      .run(first);
    return;
  }
  database
    .query<unknown, (string | number)[]>(
      `INSERT INTO chosen_rest SELECT c.id, ifnull(v.first_day, ${NEVER}), 0
       FROM chosen_combination AS c CROSS JOIN combination AS f ON f.id = c.id
       LEFT JOIN dimension AS v ON v.kind = ? AND v.value = ${VALUE_OF_COMBINATION[dimension.kind]}
       WHERE v.first_day IS NULL OR v.first_day > ?`,
    )
    .run(dimension.kind, first);
}

function clearRest(database: Database): void {
  database.run(
    "CREATE TEMP TABLE IF NOT EXISTS chosen_rest (id INTEGER PRIMARY KEY, end_day INTEGER, group_id INTEGER)",
  );
  database.run("DELETE FROM chosen_rest");
}
