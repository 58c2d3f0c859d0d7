import { Cancellation, type Caller } from "#kernel/cancellation.ts";
import { createTee, WRITE_STALL_MS_MAX, type BodyReader } from "#forward/tee.ts";
import type { Deadlines } from "#kernel/deadlines.ts";
import { describeCause, type Log } from "#kernel/log.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import type { ReportNotes, StatsQuery, StatsStore } from "#stats/store.ts";
import type { NamedRequestRow } from "#views/reports.ts";
import { createRequestCsv } from "./request-csv.ts";

/** Rows that are read and spelled at a time; of a log of any length no more than these are in memory. */
const SLICE_ROWS = 1000;
/** The limit of one slice: below the time after which the server closes a connection on which nothing moves. */
const SLICE_MS_MAX = 60_000;

export interface RequestCsvOptions {
  readonly asked: StatsQuery;
  readonly stats: Pick<StatsStore, "listRequests">;
  readonly join: (rows: readonly RequestLogRow[]) => Promise<readonly NamedRequestRow[]>;
  /** Nothing more is read once it hangs up. */
  readonly caller: Caller;
  /** The principal that asks. */
  readonly askerId: string;
  readonly deadlines: Deadlines;
  readonly log: Log;
}

/**
 * Every row that matches, newest first, as CSV that is read while it is sent and no faster than it is taken. Each slice
 * begins where the one before it ended, so that requests that arrive meanwhile neither shift nor repeat a row. The first is
 * read before anything is sent: a refusal is an answer of its own; what fails later breaks the response off.
 */
export async function streamRequestCsv(
  options: RequestCsvOptions,
): Promise<{ readonly body: ReadableStream<Uint8Array>; readonly notes: ReportNotes }> {
  const { asked, stats, join, caller, askerId, deadlines, log } = options;
  const cancellation = new Cancellation(caller, { limits: deadlines });
  const { signal } = cancellation;
  const encoder = new TextEncoder();
  let untilUs = asked.window.untilUs;
  let hasMore = true;

  const readSlice = async ({ areUnitsWanted }: { readonly areUnitsWanted: boolean }) => {
    const window = { sinceUs: asked.window.sinceUs, untilUs };
    const report = await stats.listRequests(
      { ...asked, window },
      { limit: SLICE_ROWS, offset: 0 },
      { signal, askerId, isTotalWanted: false, areUnitsWanted },
    );
    const last = report.rows.at(-1);
    hasMore = report.rows.length === SLICE_ROWS;
    if (last !== undefined) untilUs = last.arrivedAtUs;
    return { rows: await join(report.rows), notes: report };
  };
  const toReader = ({ toRows }: ReturnType<typeof createRequestCsv>): BodyReader => ({
    async read() {
      if (!hasMore) return { done: true };
      try {
        const { rows } = await readSlice({ areUnitsWanted: false });
        return { done: false, value: encoder.encode(toRows(rows)) };
      } catch (cause) {
        if (cancellation.cause !== "cancelled") log.error("a request log broke off", describeCause(cause));
        throw cause;
      }
    },
    // The signal of the cancellation has told the reader.
    cancel: () => Promise.resolve(),
  });

  try {
    const { rows, notes } = await readSlice({ areUnitsWanted: true });
    // The header stands before rows that are not read yet: what columns they need is asked first.
    const csv = createRequestCsv(notes);
    const body = createTee({
      reader: toReader(csv),
      first: encoder.encode(csv.header + csv.toRows(rows)),
      cancellation,
      idleMs: SLICE_MS_MAX,
      stallMs: WRITE_STALL_MS_MAX,
      watch: () => null,
      finish: () => Promise.resolve(),
    });
    return { body, notes };
  } catch (cause) {
    cancellation.release();
    throw cause;
  }
}
