import type { InstantUs } from "#kernel/clock.ts";
import type { ErrorCode } from "#kernel/errors.ts";
import type { LogFields } from "#kernel/log.ts";
import type { Retention } from "./maintenance.ts";
import type { AnswerOf, Asked, QuestionKind } from "./reader-questions.ts";
import type { Commit } from "./writer.ts";

/** What goes to the writer Worker. Each `id` is answered once, in the end, whatever happens in between. */
export type WriterCommand =
  | { readonly kind: "start"; readonly databasePath: string; readonly journalDirectory: string }
  /** New lines are in the journal. */
  | { readonly kind: "wake" }
  /** Answered when everything that is in the journal now is committed. */
  | { readonly kind: "flush"; readonly id: number }
  | {
      readonly kind: "saveKeyUse";
      readonly id: number;
      readonly uses: readonly (readonly [string, InstantUs])[];
    }
  /** Seals days, looks at the clock and removes old rows, slice by slice between batches; answered after the last. */
  | {
      readonly kind: "maintain";
      readonly id: number;
      readonly sealBeforeDay: number;
      readonly retention: Retention;
    }
  | { readonly kind: "close" };

export type WriterReply =
  | { readonly kind: "ready" }
  /** A batch is committed. */
  | { readonly kind: "committed"; readonly commit: Commit }
  /** An attempt failed and will be made again. */
  | { readonly kind: "failed" }
  | { readonly kind: "done"; readonly id: number }
  | {
      readonly kind: "report";
      readonly level: "info" | "warn" | "error";
      readonly message: string;
      readonly fields: LogFields;
    }
  | { readonly kind: "closed" };

/** What goes to the reader Worker: one question at a time. */
export type ReaderCommand =
  | { readonly kind: "start"; readonly databasePath: string }
  | { readonly kind: "ask"; readonly id: number; readonly asked: Asked<QuestionKind> }
  | { readonly kind: "close" };

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
  | { readonly kind: "closed" };
