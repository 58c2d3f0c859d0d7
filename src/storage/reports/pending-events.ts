import type { InstantUs } from "#kernel/clock.ts";
import type { Window } from "#stats/filter.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import { prepareEvents, toEventJoins } from "./chosen-events.ts";
import type { Wanted } from "./first-match.ts";
import { NOT_CHOSEN } from "./label-groups.ts";
import { IS_PENDING } from "./unmetered.ts";
import type { WindowCut } from "./window-cut.ts";

/** An event whose usage is still to come. */
export interface PendingEvent {
  readonly id: InstantUs;
  readonly group: number;
  readonly outcome: string;
}

interface PendingRow {
  readonly id: InstantUs;
  readonly combination: number;
  readonly result: number;
}

/**
 * The pending events that a filter lets through, in a window, or in the one that was counted instead where rows of it were
 * removed. They are few, and their rows are always there: cells need not count them.
 */
export function* findPendingEvents(
  { filter, groups }: Wanted,
  { window, snapped }: { readonly window: Window } & Pick<WindowCut, "snapped">,
): Script<readonly PendingEvent[]> {
  const dialect = yield* dialectOf();
  const range = [
    snapped?.sinceUs ?? window.sinceUs ?? 0,
    snapped?.untilUs ?? window.untilUs ?? Number.MAX_SAFE_INTEGER,
  ];
  const ids = yield* all<{ id: number }>(
    "SELECT DISTINCT id FROM pending_event WHERE id >= ? AND id < ?",
    range,
  );
  if (ids.length === 0) return [];
  yield* prepareEvents(filter);
  // Another lane may have an event of the same microsecond that is not pending.
  const rows = yield* all<PendingRow>(
    `SELECT e.id, e.combination, m.result FROM event AS e ${toEventJoins(dialect, filter)} WHERE ${dialect.isAnyOfKeys("e.id")}
       AND e.combination IN (SELECT id FROM combination WHERE ${IS_PENDING})`,
    [groups.shapes, ids.map(({ id }) => id)],
  );
  const outcomes = new Map(filter.results.map(({ id, outcome }) => [id, outcome]));
  return rows.map(({ id, combination, result }) => {
    return { id, group: groups.groupOf[combination] ?? NOT_CHOSEN, outcome: outcomes.get(result) ?? "" };
  });
}
