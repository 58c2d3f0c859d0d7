import type { Database } from "bun:sqlite";
import type { InstantUs } from "#kernel/clock.ts";
import type { StatsQuery, StatsStore } from "#stats/store.ts";
import { readErrors } from "./errors.ts";
import { readFacets } from "./facets.ts";
import { loadLastUsed } from "./key-use.ts";
import type { RequestPage } from "./request-log.ts";
import { listRequests } from "./request-log.ts";
import { readSeries } from "./series.ts";
import { readSummary } from "./summary.ts";

type Report = Exclude<keyof StatsStore, "listRequests">;

/** What is asked of the reader Worker, and what comes back. */
export interface ReaderQuestions {
  readonly listRequests: {
    readonly question: { readonly query: StatsQuery; readonly page: RequestPage };
    readonly answer: Awaited<ReturnType<StatsStore["listRequests"]>>;
  };
  readonly loadLastUsed: {
    readonly question: { readonly ids: readonly string[] };
    readonly answer: ReadonlyMap<string, InstantUs>;
  };
  readonly readSeries: ReportQuestion<"readSeries">;
  readonly readSummary: ReportQuestion<"readSummary">;
  readonly readFacets: ReportQuestion<"readFacets">;
  readonly readErrors: ReportQuestion<"readErrors">;
}

interface ReportQuestion<Kind extends Report> {
  readonly question: Parameters<StatsStore[Kind]>[0];
  readonly answer: Awaited<ReturnType<StatsStore[Kind]>>;
}

export type QuestionKind = keyof ReaderQuestions;
type QuestionOf<Kind extends QuestionKind> = ReaderQuestions[Kind]["question"];
export type AnswerOf<Kind extends QuestionKind> = ReaderQuestions[Kind]["answer"];

/** A question with its kind, as it travels. */
export type Asked<Kind extends QuestionKind> = {
  readonly [One in Kind]: { readonly kind: One; readonly question: QuestionOf<One> };
}[Kind];

type Answers = {
  readonly [Kind in QuestionKind]: (database: Database, question: QuestionOf<Kind>) => AnswerOf<Kind>;
};

/** Who answers what. A new report is one line in each of the two tables. */
const ANSWERS: Answers = {
  listRequests: (database, { query, page }) => listRequests(database, query, page),
  loadLastUsed: (database, { ids }) => loadLastUsed(database, ids),
  readSeries,
  readSummary,
  readFacets,
  readErrors,
};

/** Throws ProxyError for a refusal; anything else that it throws is a bug, or the file's. */
export function answerQuestion<Kind extends QuestionKind>(
  database: Database,
  asked: Asked<Kind>,
): AnswerOf<Kind> {
  return ANSWERS[asked.kind](database, asked.question);
}
