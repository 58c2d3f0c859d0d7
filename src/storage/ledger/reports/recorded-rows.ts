import { all, dialectOf, type Reading } from "#storage/ledger/queries/reading.ts";
import { matchesRowFilter } from "#stats/row-filter.ts";
import type { AnswerOf, QuestionOf } from "#storage/ledger/threads/messages.ts";
import { toConditionOfFew } from "./request-filter.ts";
import { readRowsById } from "./request-rows.ts";

/** The events with these ids that match, newest first, and how many they are; each is looked up, nothing else is read. */
export function* listRecorded({
  query,
  ids,
  page,
}: QuestionOf<"listRecorded">): Reading<AnswerOf<"listRecorded">> {
  const dialect = yield* dialectOf();
  const { sql, bindings } = toConditionOfFew(dialect, query);
  const found = (yield* all<{ id: number }>(
    `SELECT id FROM event WHERE ${dialect.isAnyOf("id", "number")} ${sql} ORDER BY id DESC`,
    [ids, ...bindings],
  )).map(({ id }) => id);
  const toPage = <One>(list: readonly One[]) => list.slice(page.offset, page.offset + page.limit);
  const { rows: bounds } = query.filter;
  if (bounds === null) return { rows: yield* readRowsById(toPage(found)), total: found.length };
  const within = (yield* readRowsById(found)).filter((row) => matchesRowFilter(row, bounds));
  return { rows: toPage(within), total: within.length };
}
