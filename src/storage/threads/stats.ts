import type { InstantUs } from "#kernel/clock.ts";
import type { AnswerOf, QuestionOf, ReportName } from "#storage/reports/reports.ts";
import type { ReportOptions, StatsStore } from "#stats/store.ts";

/** Asks a ledger one question, by the name of its report. */
export type Ask = <Name extends ReportName>(
  name: Name,
  question: QuestionOf<Name>,
  options?: ReportOptions,
) => Promise<AnswerOf<Name>>;

/** Events that were recorded after a cursor. */
export interface RecordedSince {
  /** Ids of the events, in the order in which they were recorded; empty where there is a gap. */
  readonly ids: readonly InstantUs[];
  /** The lane of each; null where there is one server, whose lane is 0. */
  readonly lanes: readonly number[] | null;
  /** The next poll goes on from it. */
  readonly cursor: string;
  /** True when events may have been recorded that are not among them: the cursor is of another start, or too old. */
  readonly hasGap: boolean;
}

/** The order in which events were recorded, as the reports ask for it (`after`). */
export interface RecordedOrder {
  /** Adds the events of one commit of this server, in the order in which they ended; absent where the database has it. */
  add?(ids: Float64Array): void;
  /** Tells that a commit may have been made of which no message came. */
  interrupt?(): void;
  /** Finds the events that were recorded after a cursor; an empty one means from now on. */
  since(cursor: string): RecordedSince | Promise<RecordedSince>;
}

const NOTHING_KNOWN: RecordedSince = { ids: [], lanes: null, cursor: "", hasGap: true };

/**
 * Makes the store of reports that asks each as one question. `recorded` is null in a process that does not hear of commits, so
 * that it knows no cursor.
 */
export function createStats(ask: Ask, recorded: Pick<RecordedOrder, "since"> | null): StatsStore {
  const toReport =
    <Name extends ReportName>(name: Name) =>
    (question: QuestionOf<Name>, options?: ReportOptions) =>
      ask(name, question, options);
  return {
    listRequests: (query, page, { signal, askerId, ...wanted } = {}) =>
      ask("listRequests", { query, page: { ...page, ...wanted } }, { signal, askerId }),
    async listRecorded(query, { after, limit, offset }, options) {
      const found = (await recorded?.since(after)) ?? NOTHING_KNOWN;
      const { cursor, hasGap } = found;
      const { sinceUs, untilUs } = query.window;
      const isWithin = (id: InstantUs) =>
        (sinceUs === null || id >= sinceUs) && (untilUs === null || id < untilUs);
      const ids = found.ids.filter(isWithin);
      if (ids.length === 0) return { rows: [], total: 0, cursor, hasGap };
      const lanes = found.lanes?.filter((_, index) => isWithin(found.ids[index] ?? 0)) ?? null;
      const paged = await ask("listRecorded", { query, ids, lanes, page: { limit, offset } }, options);
      return { ...paged, cursor, hasGap };
    },
    readSeries: toReport("readSeries"),
    readGroupedSeries: toReport("readGroupedSeries"),
    readSummary: toReport("readSummary"),
    readBreakdown: toReport("readBreakdown"),
    readFacets: toReport("readFacets"),
    readErrors: toReport("readErrors"),
    readClientChanges: toReport("readClientChanges"),
    readRetryStorms: toReport("readRetryStorms"),
    readMissingPrices: toReport("readMissingPrices"),
    reconcile: toReport("reconcile"),
    readModelUse: toReport("readModelUse"),
    readCostWindows: toReport("readCostWindows"),
    readBilledDay: toReport("readBilledDay"),
    readStatement: toReport("readStatement"),
  };
}
