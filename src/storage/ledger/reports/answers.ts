import type { Reading } from "#storage/ledger/queries/reading.ts";
import type { AnswerOf, Asked, QuestionKind, QuestionOf } from "#storage/ledger/threads/messages.ts";
import type { EncodedReport, ReportTransfer } from "#stats/store.ts";
import { compressReport } from "#storage/ledger/threads/compressed-report.ts";
import { findEvent } from "#storage/ledger/queries/unsettled-events.ts";
import { sumLimits } from "#storage/ledger/limits/limit-sums.ts";
import { readBreakdown } from "./breakdown.ts";
import { readErrors } from "./errors.ts";
import { readFacets } from "./facets.ts";
import { loadLastUsed } from "./key-use.ts";
import { readMissingPrices } from "./missing-prices.ts";
import { listRequests } from "./request-log.ts";
import { listRecorded } from "./recorded-rows.ts";
import { readGroupedSeries } from "./series-groups.ts";
import { readSeries } from "./series.ts";
import { readSummary } from "./summary.ts";

type Answers = {
  readonly [Kind in QuestionKind]: (question: QuestionOf<Kind>) => Reading<AnswerOf<Kind>>;
};

/** What answers each kind of question. A new report is one line here and one in `ReaderQuestions`. */
const ANSWERS: Answers = {
  listRequests: ({ query, page }) => listRequests(query, page),
  listRecorded,
  loadLastUsed: ({ ids }) => loadLastUsed(ids),
  findEvent,
  readSeries,
  readGroupedSeries: (question) => compressed(readGroupedSeries(question), question),
  readSummary: (question) => compressed(readSummary(question), question),
  readBreakdown: (question) => readBreakdown(question),
  readFacets,
  readErrors: (question) => compressed(readErrors(question), question),
  readMissingPrices: (question) => readMissingPrices(question),
  sumLimits: (question) => sumLimits(question),
};

function* compressed(
  report: Reading<EncodedReport>,
  options: Partial<ReportTransfer>,
): Reading<EncodedReport> {
  return compressReport(yield* report, options);
}

/** What answers a question: to be read within one transaction. Throws ProxyError for a refusal; anything else that it throws is a bug, or the ledger's. */
export function toReading<Kind extends QuestionKind>(asked: Asked<Kind>): Reading<AnswerOf<Kind>> {
  return ANSWERS[asked.kind](asked.question);
}
