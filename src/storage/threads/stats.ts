import type { InstantUs } from "#kernel/clock.ts";
import type { ReportOptions, StatsStore } from "#stats/store.ts";
import type { AnswerOf, AskedAs, QuestionKind } from "./messages.ts";
import type { RecordedOrder, RecordedSince } from "./recorded-events.ts";

/** What asks one question and is answered in its kind. */
export type Ask = <Kind extends QuestionKind>(
  asked: AskedAs<Kind>,
  options?: ReportOptions,
) => Promise<AnswerOf<Kind>>;

const NOTHING_KNOWN: RecordedSince = { ids: [], lanes: null, cursor: "", hasGap: true };

/**
 * The reports as their callers know them, each asked as one question. `recorded` is null in a process that only looks: it
 * does not hear of commits, so that no cursor is ever known to it.
 */
export function createStats(ask: Ask, recorded: Pick<RecordedOrder, "since"> | null): StatsStore {
  return {
    listRequests(query, page, options) {
      const { isTotalWanted, areUnitsWanted, order } = options ?? {};
      const wanted = { ...page, isTotalWanted, areUnitsWanted, order };
      return ask<"listRequests">({ kind: "listRequests", question: { query, page: wanted } }, options);
    },
    async listRecorded(query, { after, limit, offset }, options) {
      const found = (await recorded?.since(after)) ?? NOTHING_KNOWN;
      const { cursor, hasGap } = found;
      const { sinceUs, untilUs } = query.window;
      const isWithin = (id: InstantUs) =>
        (sinceUs === null || id >= sinceUs) && (untilUs === null || id < untilUs);
      const ids = found.ids.filter(isWithin);
      if (ids.length === 0) return { rows: [], total: 0, cursor, hasGap };
      const lanes = found.lanes?.filter((_, index) => isWithin(found.ids[index] ?? 0)) ?? null;
      const question = { query, ids, lanes, page: { limit, offset } };
      const paged = await ask<"listRecorded">({ kind: "listRecorded", question }, options);
      return { ...paged, cursor, hasGap };
    },
    readSeries: (question, options) => ask<"readSeries">({ kind: "readSeries", question }, options),
    readGroupedSeries: (question, options) =>
      ask<"readGroupedSeries">({ kind: "readGroupedSeries", question }, options),
    readSummary: (question, options) => ask<"readSummary">({ kind: "readSummary", question }, options),
    readBreakdown: (question, options) => ask<"readBreakdown">({ kind: "readBreakdown", question }, options),
    readFacets: (question, options) => ask<"readFacets">({ kind: "readFacets", question }, options),
    readErrors: (question, options) => ask<"readErrors">({ kind: "readErrors", question }, options),
    readMissingPrices: (question, options) =>
      ask<"readMissingPrices">({ kind: "readMissingPrices", question }, options),
  };
}
