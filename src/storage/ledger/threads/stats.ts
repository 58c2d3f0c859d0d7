import type { ReportOptions, StatsStore } from "#stats/store.ts";
import type { AnswerOf, AskedAs, QuestionKind } from "./messages.ts";

/** What asks one question and is answered in its kind. */
export type Ask = <Kind extends QuestionKind>(
  asked: AskedAs<Kind>,
  options?: ReportOptions,
) => Promise<AnswerOf<Kind>>;

/** The reports as their callers know them, each asked as one question. */
export function createStats(ask: Ask): StatsStore {
  return {
    listRequests(query, page, options) {
      const wanted = { ...page, isTotalWanted: options?.isTotalWanted };
      return ask<"listRequests">({ kind: "listRequests", question: { query, page: wanted } }, options);
    },
    readSeries: (question, options) => ask<"readSeries">({ kind: "readSeries", question }, options),
    readGroupedSeries: (question, options) =>
      ask<"readGroupedSeries">({ kind: "readGroupedSeries", question }, options),
    readSummary: (question, options) => ask<"readSummary">({ kind: "readSummary", question }, options),
    readFacets: (question, options) => ask<"readFacets">({ kind: "readFacets", question }, options),
    readErrors: (question, options) => ask<"readErrors">({ kind: "readErrors", question }, options),
    readMissingPrices: (question, options) =>
      ask<"readMissingPrices">({ kind: "readMissingPrices", question }, options),
  };
}
