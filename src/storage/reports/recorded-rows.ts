import type { InstantUs } from "#kernel/clock.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import { matchesRowFilter } from "#stats/row-filter.ts";
import type { StatsQuery } from "#stats/store.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import { type LabelRow, LABELS } from "./label-sets.ts";
import { resolveFilter } from "./request-filter.ts";
import { type EventKey, readRowsByKey, toKeyColumns, toLogOrder } from "./request-rows.ts";

interface RecordedPage {
  /** Its window is not looked at. */
  readonly query: StatsQuery;
  readonly ids: readonly InstantUs[];
  /** The lane of each; null: 0. */
  readonly lanes: readonly number[] | null;
  readonly page: Page;
}

/** The events with these ids that match, newest first, and how many they are; each is looked up, nothing else is read. */
export function* listRecorded({ query, ids, lanes, page }: RecordedPage): Script<Paged<RequestLogRow>> {
  const dialect = yield* dialectOf();
  const { conditions, results } = yield* resolveFilter(query);
  const resultIds = new Set(results.map(({ id }) => id));
  const wanted = new Set(ids.map((id, index) => `${id} ${lanes?.[index] ?? 0}`));
  const rows = yield* all<EventKey & LabelRow & { readonly result: number }>(
    `SELECT ${toKeyColumns(dialect)}, m.result, ${LABELS.map((label) => `c.${label}`).join(", ")} FROM event AS e
       CROSS JOIN manner AS m ON m.id = e.manner CROSS JOIN combination AS c ON c.id = e.combination
     WHERE ${dialect.isAnyOfKeys("e.id")} ORDER BY ${toLogOrder(dialect, "e")}`,
    [ids],
  );
  const found = rows.filter(
    (row) =>
      wanted.has(`${row.id} ${row.lane}`) &&
      resultIds.has(row.result) &&
      conditions.every(({ label, isMet }) => row[label] !== null && isMet(row[label])),
  );
  const toPage = <One>(list: readonly One[]) => list.slice(page.offset, page.offset + page.limit);
  const { rows: bounds } = query.filter;
  if (bounds === null) return { rows: yield* readRowsByKey(toPage(found)), total: found.length };
  const within = (yield* readRowsByKey(found)).filter((row) => matchesRowFilter(row, bounds));
  return { rows: toPage(within), total: within.length };
}
