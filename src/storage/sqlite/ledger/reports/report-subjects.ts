import type { Database } from "bun:sqlite";
import type { ReportSubject } from "#stats/grouping.ts";

/** Combinations kept for each connection: rows of that table never change. 400 bytes each (measured), 40 MB in all. */
const SUBJECTS_MAX = 100_000;

const subjectsOf = new WeakMap<Database, Map<number, ReportSubject>>();

/** Who used what, by combination. Those that were read before are not read again; within one `readTransaction`. */
export function findSubjects(
  database: Database,
  combinations: Iterable<number>,
): ReadonlyMap<number, ReportSubject> {
  let known = subjectsOf.get(database);
  if (known === undefined) subjectsOf.set(database, (known = new Map<number, ReportSubject>()));
  let missing = listMissing(known, combinations);
  if (missing.length === 0) return known;
  if (known.size + missing.length > SUBJECTS_MAX) {
    // The map is emptied; one answer may need more of them than are kept.
    subjectsOf.set(database, (known = new Map<number, ReportSubject>()));
    missing = listMissing(known, combinations);
    if (missing.length > SUBJECTS_MAX) subjectsOf.delete(database);
  }
  for (const row of readSubjects(database, missing)) known.set(row.id, toSubject(row));
  return known;
}

/** The subject of a combination that was among those asked for. */
export function getSubject(subjects: ReadonlyMap<number, ReportSubject>, combination: number): ReportSubject {
  const subject = subjects.get(combination);
  if (subject === undefined) throw new Error("a combination is missing");
  return subject;
}

interface CombinationRow {
  readonly id: number;
  readonly principal_name: string;
  readonly key_id: string | null;
  readonly provider_id: string;
  readonly model: string | null;
  readonly endpoint: string;
  readonly client: string | null;
  readonly tags: string;
}

function listMissing(known: ReadonlyMap<number, ReportSubject>, combinations: Iterable<number>): number[] {
  const missing = new Set<number>();
  for (const id of combinations) if (!known.has(id)) missing.add(id);
  return [...missing];
}

function readSubjects(database: Database, ids: readonly number[]): readonly CombinationRow[] {
  return database
    .query<CombinationRow, [string]>(
      `SELECT id, principal_name, key_id, provider_id, model, endpoint, client,
         (SELECT ifnull(group_concat(value, ',' ORDER BY key), '') FROM json_each(tags)) AS tags
       FROM combination WHERE id IN (SELECT value FROM json_each(?))`,
    )
    .all(JSON.stringify(ids));
}

function toSubject(row: CombinationRow): ReportSubject {
  return {
    principal: row.principal_name,
    keyId: row.key_id,
    providerId: row.provider_id,
    model: row.model,
    endpoint: row.endpoint,
    client: row.client,
    tags: row.tags,
  };
}
