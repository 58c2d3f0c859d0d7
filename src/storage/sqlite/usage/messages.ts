import type { InstantUs } from "#kernel/clock.ts";
import type { LogFields } from "#kernel/log.ts";
import type { Page, Paged } from "#kernel/page.ts";
import type { RequestLogRow, StatsQuery } from "#stats/store.ts";
import type { Retention } from "./maintenance.ts";

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
  | { readonly kind: "done"; readonly id: number }
  | {
      readonly kind: "report";
      readonly level: "info" | "warn" | "error";
      readonly message: string;
      readonly fields: LogFields;
    }
  | { readonly kind: "closed" };

/** What goes to the reader Worker. */
export type ReaderCommand =
  | { readonly kind: "start"; readonly databasePath: string }
  | { readonly kind: "listRequests"; readonly id: number; readonly query: StatsQuery; readonly page: Page }
  | { readonly kind: "loadLastUsed"; readonly id: number; readonly ids: readonly string[] }
  | { readonly kind: "close" };

export type ReaderReply =
  | { readonly kind: "ready" }
  | { readonly kind: "requests"; readonly id: number; readonly value: Paged<RequestLogRow> }
  | { readonly kind: "lastUsed"; readonly id: number; readonly value: ReadonlyMap<string, InstantUs> }
  | { readonly kind: "failed"; readonly id: number; readonly fields: LogFields }
  | { readonly kind: "closed" };
