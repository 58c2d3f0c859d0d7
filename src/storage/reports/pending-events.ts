import type { InstantUs } from "#kernel/clock.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import { IS_PENDING } from "./unmetered.ts";
import type { WindowCut } from "./window-cut.ts";
import type { Window } from "#stats/filter.ts";
import { prepareEvents, toEventJoins } from "./chosen-events.ts";
import type { ResolvedFilter } from "./request-filter.ts";

/** An event whose usage is still to come. */
export interface PendingEvent {
  readonly id: InstantUs;
  readonly combination: number;
  /** Its group of `combination_group` where that is asked for; else 0. */
  readonly group_id: number;
  /** 1 for an outcome that summaries count. */
  readonly counted: number;
}

export interface PendingQuestion {
  readonly window: Window;
  /** The window that was counted instead, where rows of it were removed. */
  readonly snapped: WindowCut["snapped"];
  readonly isGrouped: boolean;
}

/**
 * The pending events that a filter lets through, in a window. They are few, and their rows are always there: totals need not
 * count them. After `resolveFilter`, and after `saveGroups` where they are grouped.
 */
export function* findPendingEvents(
  filter: ResolvedFilter,
  { window, snapped, isGrouped }: PendingQuestion,
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
  const [group, join] = isGrouped
    ? ["g.group_id", "CROSS JOIN combination_group AS g ON g.id = e.combination"]
    : ["0", ""];
  // Another lane may have an event of the same microsecond that is not pending.
  return yield* all<PendingEvent>(
    `SELECT e.id, e.combination, ${group} AS group_id, m.ok + m.cancelled AS counted
     FROM event AS e ${toEventJoins(dialect, filter)} ${join} WHERE ${dialect.isAnyOfKeys("e.id")}
       AND e.combination IN (SELECT id FROM combination WHERE ${IS_PENDING})`,
    [ids.map(({ id }) => id)],
  );
}
