import type { Database } from "bun:sqlite";
import type { AnswerOf, QuestionOf } from "#storage/ledger/threads/messages.ts";
import { readTransaction } from "./read-transaction.ts";
import { toRowCondition } from "./request-filter.ts";
import { readRowsById } from "./request-rows.ts";

/** The events with these ids that match, newest first, and how many they are; each is looked up, nothing else is read. */
export function listRecorded(
  database: Database,
  { query, ids, page }: QuestionOf<"listRecorded">,
): AnswerOf<"listRecorded"> {
  return readTransaction(database, () => {
    const { sql, bindings } = toRowCondition(query);
    const found = database
      .query<{ id: number }, (string | number)[]>(
        `SELECT id FROM event WHERE id IN (SELECT value FROM json_each(?)) ${sql} ORDER BY id DESC`,
      )
      .all(JSON.stringify(ids), ...bindings)
      .map(({ id }) => id);
    const rows = readRowsById(database, found.slice(page.offset, page.offset + page.limit));
    return { rows, total: found.length };
  });
}
