import type { Script } from "#storage/sql/script.ts";
import type { AnswerOf, Asked, QuestionKind, QuestionOf } from "#storage/threads/messages.ts";
import type { EncodedReport, ReportTransfer } from "#stats/store.ts";
import { compressReport } from "#storage/threads/compressed-report.ts";
import { findEvent } from "#storage/writer/unsettled-events.ts";
import { sumLimits } from "./limit-sums.ts";
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
  readonly [Kind in QuestionKind]: (question: QuestionOf<Kind>) => Script<AnswerOf<Kind>>;
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

function* compressed(report: Script<EncodedReport>, options: Partial<ReportTransfer>): Script<EncodedReport> {
  return compressReport(yield* report, options);
}

/** What answers a question: to be read within one transaction. Throws ProxyError for a refusal; anything else that it throws is a bug, or the ledger's. */
export function toReading<Kind extends QuestionKind>(asked: Asked<Kind>): Script<AnswerOf<Kind>> {
  return ANSWERS[asked.kind](asked.question);
}
