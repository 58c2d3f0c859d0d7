import type { EncodedReport, ReportTransfer, StatsQuery } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import { findEvent } from "#storage/writer/settlements.ts";
import { readBreakdown } from "./breakdown.ts";
import { compressReport } from "./compressed-report.ts";
import { readErrors } from "./errors.ts";
import { readFacets } from "./facets.ts";
import { loadLastUsed } from "./key-use.ts";
import { sumLimits } from "./limit-sums.ts";
import { readMissingPrices } from "./missing-prices.ts";
import { listRecorded, listRequests, type RequestPage } from "./request-log.ts";

import { readGroupedSeries, readSeries } from "./series.ts";
import { readSummary } from "./summary.ts";

/**
 * Everything that a ledger is asked, by name; a new report is one line here. Each script is read within one transaction. It
 * throws ProxyError for a refusal; anything else that it throws is a bug, or the database's.
 */
export const REPORTS = {
  listRequests: ({ query, page }: { readonly query: StatsQuery; readonly page: RequestPage }) =>
    listRequests(query, page),
  listRecorded,
  loadLastUsed,
  findEvent,
  readSeries,
  readGroupedSeries: compressed(readGroupedSeries),
  readSummary: compressed(readSummary),
  readBreakdown,
  readFacets,
  readErrors: compressed(readErrors),
  readMissingPrices,
  sumLimits,
};

export type ReportName = keyof typeof REPORTS;
export type QuestionOf<Name extends ReportName> = Parameters<(typeof REPORTS)[Name]>[0];
export type AnswerOf<Name extends ReportName> =
  ReturnType<(typeof REPORTS)[Name]> extends Script<infer Answer> ? Answer : never;

type Scripts = {
  readonly [Name in ReportName]: (question: QuestionOf<Name>) => Script<AnswerOf<Name>>;
};
const SCRIPTS: Scripts = REPORTS;

/** The script that answers a question. */
export function toScript<Name extends ReportName>(
  name: Name,
  question: QuestionOf<Name>,
): Script<AnswerOf<Name>> {
  return SCRIPTS[name](question);
}

function compressed<Question extends Partial<ReportTransfer>>(
  report: (question: Question) => Script<EncodedReport>,
) {
  return function* compress(question: Question): Script<EncodedReport> {
    return compressReport(yield* report(question), question);
  };
}
