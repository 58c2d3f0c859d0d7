import type { Database } from "bun:sqlite";
import { matchesRowFilter } from "#stats/row-filter.ts";
import type { AnswerOf, QuestionOf } from "#storage/ledger/threads/messages.ts";
import { readTransaction } from "./read-transaction.ts";
import { toConditionOfFew } from "./request-filter.ts";
import { readRowsById } from "./request-rows.ts";

/** The events with these ids that match, newest first, and how many they are; each is looked up, nothing else is read. */
export function listRecorded(
  database: Database,
  { query, ids, page }: QuestionOf<"listRecorded">,
): AnswerOf<"listRecorded"> {
  return readTransaction(database, () => {
    const { sql, bindings } = toConditionOfFew(query);
    const found = database
      .query<{ id: number }, (string | number)[]>(
        `SELECT id FROM event WHERE id IN (SELECT value FROM json_each(?)) ${sql} ORDER BY id DESC`,
      )
      .all(JSON.stringify(ids), ...bindings)
      .map(({ id }) => id);
    const toPage = <One>(all: readonly One[]) => all.slice(page.offset, page.offset + page.limit);
    const { rows: bounds } = query.filter;
    if (bounds === null) return { rows: readRowsById(database, toPage(found)), total: found.length };
    const within = readRowsById(database, found).filter((row) => matchesRowFilter(row, bounds));
    return { rows: toPage(within), total: within.length };
  });
}
