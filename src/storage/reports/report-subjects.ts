import { all, connection, dialectOf, type Script } from "#storage/sql/script.ts";
import { parseStoredTags } from "#storage/cells/stored-tags.ts";
import type { ReportSubject } from "#stats/grouping.ts";

/** Combinations kept for each connection: rows of that table never change. 400 bytes each (measured), 40 MB in all. */
const SUBJECTS_MAX = 100_000;

/** Who used what, by combination. Those that were read before are not read again. */
export function* findSubjects(combinations: Iterable<number>): Script<ReadonlyMap<number, ReportSubject>> {
  let { subjects: known } = yield* connection();
  let missing = listMissing(known, combinations);
  if (missing.length === 0) return known;
  if (known.size + missing.length > SUBJECTS_MAX) {
    known.clear();
    missing = listMissing(known, combinations);
    // One answer may need more of them than are kept.
    if (missing.length > SUBJECTS_MAX) known = new Map<number, ReportSubject>();
  }
  for (const row of yield* readSubjects(missing)) known.set(row.id, toSubject(row));
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

function* readSubjects(ids: readonly number[]): Script<readonly CombinationRow[]> {
  const { isAnyOf } = yield* dialectOf();
  return yield* all<CombinationRow>(
    `SELECT id, principal_name, key_id, provider_id, model, endpoint, client, tags
       FROM combination WHERE ${isAnyOf("id", "number")}`,
    [ids],
  );
}

function toSubject(row: CombinationRow): ReportSubject {
  return {
    principal: row.principal_name,
    keyId: row.key_id,
    providerId: row.provider_id,
    model: row.model,
    endpoint: row.endpoint,
    client: row.client,
    tags: parseStoredTags(row.tags).tags.join(","),
  };
}
