import type { InstantUs } from "#kernel/clock.ts";
import type { ErrorCode } from "#kernel/errors.ts";
import type { EventOrigin } from "#kernel/ids.ts";
import type { LogFields } from "#kernel/log.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { LimitQuestion, LimitSum } from "#limits/limit-sums.ts";
import type { LogOrder } from "#stats/log-order.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import type { StatsQuery, StatsStore } from "#stats/store.ts";
import type { FoundEvent } from "#usage/event.ts";
import type { JournalPosition } from "#storage/journal/segments.ts";

/** Marks of one server's run: more than it can set in a year, and their product with the number of runs is far below 2^53. */
export const MARKS_MAX = 2 ** 28;

/**
 * What goes to the writer Worker. Each `id` is answered once, in the end, whatever happens in between. `Place` tells an
 * engine's Workers where its database is.
 */
export type WriterCommand<Place extends object> =
  | ({ readonly kind: "start" } & WriterStart & Place)
  /** New lines are in the journal. */
  | { readonly kind: "wake" }
  /** Answered when everything that is in the journal now is committed. */
  | { readonly kind: "flush"; readonly id: number }
  | {
      readonly kind: "saveKeyUse";
      readonly id: number;
      readonly uses: readonly (readonly [string, InstantUs])[];
    }
  /** Seals days, looks at the clock and removes old rows, slice by slice between batches or beside them; answered after the last. */
  | ({ readonly kind: "maintain"; readonly id: number } & MaintenanceLook)
  /** Answered with `summed`, or `unsummed`, once the journal's line of this mark is committed. */
  | {
      readonly kind: "sumLimits";
      readonly id: number;
      readonly mark: number;
      readonly question: LimitQuestion;
    }
  /** The file of the database has lost its name: answered when it is back under it. */
  | { readonly kind: "putBack"; readonly id: number }
  | { readonly kind: "close" };

/** What a writer writes, and for which server. */
export interface WriterStart {
  readonly journalDirectory: string;
  /** The number of its server's run (`ServerRun`). */
  readonly serverRun: number;
  /** Its server's first segment: those before it were another's. */
  readonly firstSegment: number;
  /** How long lines may still come into them; 0 when their server has certainly ended. */
  readonly earlierLiveMs: number;
}

export type WriterReply =
  | { readonly kind: "ready" }
  /** Another server has begun its run: this writer writes no more. */
  | { readonly kind: "superseded" }
  /** A batch is committed. */
  | { readonly kind: "committed"; readonly commit: Commit }
  /** An attempt failed and will be made again. */
  | { readonly kind: "failed" }
  | { readonly kind: "done"; readonly id: number }
  | { readonly kind: "summed"; readonly id: number; readonly sums: readonly LimitSum[] }
  /** The moment of the mark is gone: only another mark can be asked about. */
  | { readonly kind: "unsummed"; readonly id: number; readonly reason: string }
  | {
      readonly kind: "report";
      readonly level: "info" | "warn" | "error";
      readonly message: string;
      readonly fields: LogFields;
    }
  | { readonly kind: "closed" };

/** What the writer says of a batch that is committed. */
export interface Commit {
  readonly position: JournalPosition;
  /** Ids of the events in the order in which they ended, also of those that retention gave no row. */
  readonly eventIds: Float64Array;
  /** Combinations ever interned. */
  readonly combinations: number;
  /** Script the journal, the transaction and its sync. */
  readonly durationMs: number;
}

/** What is to be done at one look, as of its moment. */
export interface MaintenanceLook {
  /** UTC days since 1970 before it are sealed. */
  readonly sealBeforeDay: number;
  readonly retention: Retention;
}

export interface Retention {
  readonly nowUs: InstantUs;
  /** Null keeps rows for ever. */
  readonly ageUsMax: number | null;
}

type Report = Exclude<keyof StatsStore, "listRequests" | "listRecorded">;

/** What is asked of the reader Worker, and what comes back. */
interface ReaderQuestions {
  readonly listRequests: {
    readonly question: { readonly query: StatsQuery; readonly page: RequestPage };
    readonly answer: Awaited<ReturnType<StatsStore["listRequests"]>>;
  };
  /** The events with these keys that match, newest first; the window is not looked at. */
  readonly listRecorded: {
    readonly question: {
      readonly query: StatsQuery;
      readonly ids: readonly InstantUs[];
      /** The lane of each; null: 0. */
      readonly lanes: readonly number[] | null;
      readonly page: Page;
    };
    readonly answer: Paged<RequestLogRow>;
  };
  readonly loadLastUsed: {
    readonly question: { readonly ids: readonly string[] };
    readonly answer: ReadonlyMap<string, InstantUs>;
  };
  readonly findEvent: { readonly question: EventOrigin; readonly answer: FoundEvent };
  readonly readSeries: ReportQuestion<"readSeries">;
  readonly readGroupedSeries: ReportQuestion<"readGroupedSeries">;
  readonly readSummary: ReportQuestion<"readSummary">;
  readonly readBreakdown: ReportQuestion<"readBreakdown">;
  readonly readFacets: ReportQuestion<"readFacets">;
  readonly readErrors: ReportQuestion<"readErrors">;
  readonly readMissingPrices: ReportQuestion<"readMissingPrices">;
  readonly sumLimits: { readonly question: LimitQuestion; readonly answer: readonly LimitSum[] };
}

interface ReportQuestion<Kind extends Report> {
  readonly question: Parameters<StatsStore[Kind]>[0];
  readonly answer: Awaited<ReturnType<StatsStore[Kind]>>;
}

export type QuestionKind = keyof ReaderQuestions;
export type QuestionOf<Kind extends QuestionKind> = ReaderQuestions[Kind]["question"];
export type AnswerOf<Kind extends QuestionKind> = ReaderQuestions[Kind]["answer"];

/** A question with its kind, as it travels. */
export type Asked<Kind extends QuestionKind> = {
  readonly [One in Kind]: { readonly kind: One; readonly question: QuestionOf<One> };
}[Kind];

/** A question that is known to be of one kind. */
export type AskedAs<Kind extends QuestionKind> = Asked<QuestionKind> & { readonly kind: Kind };

/**
 * A page in an order (`newest` when absent), and whether the total is needed: without it, what lies beyond the page is not
 * counted, and it is 0.
 */
export type RequestPage = Page & {
  readonly isTotalWanted?: boolean | undefined;
  /** Whether the rare units of all that matches are told beside it, and whether some of it is pending. */
  readonly areUnitsWanted?: boolean | undefined;
  readonly order?: LogOrder | undefined;
};

/** What goes to the reader Worker: one question at a time. */
export type ReaderCommand<Place extends object> =
  | ({ readonly kind: "start"; readonly left: LeftMark } & Place)
  | { readonly kind: "ask"; readonly id: number; readonly asked: Asked<QuestionKind> }
  | { readonly kind: "close" };

/** One number in memory of both threads: 1 once the question that is being read has no asker any more. */
export type LeftMark = Int32Array<SharedArrayBuffer>;

export type ReaderReply =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly answer: AnswerOf<QuestionKind> }
  /** A ProxyError: its class is lost on the way. */
  | {
      readonly kind: "refused";
      readonly id: number;
      readonly code: ErrorCode;
      readonly message: string;
      readonly param: string | null;
    }
  | { readonly kind: "failed"; readonly id: number; readonly fields: LogFields }
  /** Its askers had left. */
  | { readonly kind: "interrupted"; readonly id: number }
  | { readonly kind: "closed" };
