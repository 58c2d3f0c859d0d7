import type { Database } from "bun:sqlite";
import type { AnswerOf, Asked, QuestionKind, QuestionOf } from "#storage/ledger/threads/messages.ts";
import { compressReport } from "#storage/ledger/threads/compressed-report.ts";
import { sumLimits } from "#storage/sqlite/ledger/limits/limit-sums.ts";
import { readBreakdown } from "./breakdown.ts";
import { readErrors } from "./errors.ts";
import { readFacets } from "./facets.ts";
import { loadLastUsed } from "./key-use.ts";
import { readMissingPrices } from "./missing-prices.ts";
import { listRequests } from "./request-log.ts";
import { listRecorded } from "./recorded-rows.ts";
import { readGroupedSeries } from "./series-groups.ts";
import { readTransaction } from "./read-transaction.ts";
import { readSeries } from "./series.ts";
import { readSummary } from "./summary.ts";

type Answers = {
  readonly [Kind in QuestionKind]: (database: Database, question: QuestionOf<Kind>) => AnswerOf<Kind>;
};

/** What answers each kind of question. A new report is one line here and one in `ReaderQuestions`. */
const ANSWERS: Answers = {
  listRequests: (database, { query, page }) => listRequests(database, query, page),
  listRecorded: (database, question) => listRecorded(database, question),
  loadLastUsed: (database, { ids }) => loadLastUsed(database, ids),
  readSeries,
  readGroupedSeries: (database, question) => compressReport(readGroupedSeries(database, question), question),
  readSummary: (database, question) => compressReport(readSummary(database, question), question),
  readBreakdown: (database, question) => readBreakdown(database, question),
  readFacets,
  readErrors: (database, question) => compressReport(readErrors(database, question), question),
  readMissingPrices: (database, question) => readMissingPrices(database, question),
  sumLimits: (database, question) => readTransaction(database, () => sumLimits(database, question)),
};

/** Throws ProxyError for a refusal; anything else that it throws is a bug, or the file's. */
export function answerQuestion<Kind extends QuestionKind>(
  database: Database,
  asked: Asked<Kind>,
): AnswerOf<Kind> {
  return ANSWERS[asked.kind](database, asked.question);
}
