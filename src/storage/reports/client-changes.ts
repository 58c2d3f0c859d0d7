import { DAY_US } from "#kernel/clock.ts";
import { type ClientDay, findClientChanges, toClientDays, toClientVersion } from "#stats/client-changes.ts";
import type { ClientChanges, StatsStore } from "#stats/store.ts";
import { toDay } from "#storage/cells/calendar.ts";
import type { Script } from "#storage/sql/script.ts";
import { foldBy } from "./folded-window.ts";
import { keepLargest } from "./group-values.ts";
import { groupLabelSets, NOT_CHOSEN } from "./label-groups.ts";
import { resolveFilter, type Result } from "./request-filter.ts";
import { cutFiltered } from "./row-window.ts";
import { BY_DAY, cutWindow, readEdges } from "./window-cut.ts";

type ClientChangesQuery = Parameters<StatsStore["readClientChanges"]>[0];

/** Versions that are told apart, the most used first: a caller may send a User-Agent of its own with each request. */
const VERSIONS_MAX = 200;

/** Classes of results. */
const ENDINGS = { ok: 0, failed: 1, cancelled: NOT_CHOSEN } as const;

/** `StatsStore.readClientChanges`, by day and version of the client from cells. */
export function* readClientChanges({ nowUs, ...query }: ClientChangesQuery): Script<ClientChanges> {
  const filter = yield* resolveFilter(query);
  const all = yield* groupLabelSets(filter, [{ label: "client", toValue: toClientVersion }]);
  const window = toClientDays(query.window, nowUs);
  const cut =
    filter.rows === null
      ? cutWindow(yield* readEdges(), window, BY_DAY)
      : yield* cutFiltered(window, { filter, groups: all });
  const { groups } = yield* keepLargest(
    { cut, filter, groups: all },
    { order: "requests", top: VERSIONS_MAX },
  );
  const byDay = { cut, filter, groups, toPeriod: toDay, stepUs: DAY_US };
  const fold = yield* foldBy(byDay, ["requests"], toEnding);
  const days = new Map<string, ClientDay>();
  for (const { group, period, ending, requests } of fold.sums()) {
    const key = `${group} ${period}`;
    const { ok, failed } = days.get(key) ?? { ok: 0, failed: 0 };
    const isOk = ending === ENDINGS.ok;
    days.set(key, {
      client: groups.values[group]?.[0] ?? null,
      day: period,
      ok: ok + (isOk ? requests : 0),
      failed: failed + (isOk ? 0 : requests),
    });
  }
  const { sinceUs } = query.window;
  const changes = findClientChanges([...days.values()], sinceUs === null ? null : toDay(sinceUs));
  return { window: cut.snapped ?? window, changes, snapped: cut.snapped, truncated: false };
}

function toEnding({ outcome }: Result): number {
  if (outcome === "cancelled") return ENDINGS.cancelled;
  return outcome === "ok" ? ENDINGS.ok : ENDINGS.failed;
}
