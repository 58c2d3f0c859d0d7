import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import { matchesRowFilter } from "#stats/row-filter.ts";
import type { AnswerOf, QuestionOf } from "#storage/threads/messages.ts";
import { toConditionOfFew } from "./request-filter.ts";
import { type EventKey, readRowsByKey, toKeyColumns, toLogOrder } from "./request-rows.ts";

/** The events with these ids that match, newest first, and how many they are; each is looked up, nothing else is read. */
export function* listRecorded({
  query,
  ids,
  lanes,
  page,
}: QuestionOf<"listRecorded">): Script<AnswerOf<"listRecorded">> {
  const dialect = yield* dialectOf();
  const { sql, bindings } = toConditionOfFew(dialect, query);
  const wanted = new Set(ids.map((id, index) => `${id} ${lanes?.[index] ?? 0}`));
  const keys = yield* all<EventKey>(
    `SELECT ${toKeyColumns(dialect)} FROM event AS e WHERE ${dialect.isAnyOfKeys("e.id")} ${sql}
     ORDER BY ${toLogOrder(dialect, "e")}`,
    [ids, ...bindings],
  );
  const found = keys.filter(({ id, lane }) => wanted.has(`${id} ${lane}`));
  const toPage = <One>(list: readonly One[]) => list.slice(page.offset, page.offset + page.limit);
  const { rows: bounds } = query.filter;
  if (bounds === null) return { rows: yield* readRowsByKey(toPage(found)), total: found.length };
  const within = (yield* readRowsByKey(found)).filter((row) => matchesRowFilter(row, bounds));
  return { rows: toPage(within), total: within.length };
}
