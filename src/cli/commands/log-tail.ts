import { DAY_US, formatInstant, parseInstant } from "#kernel/clock.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import type { AnswerOf } from "#http/client.ts";
import type { Report, ReportQuery } from "#cli/input/report.ts";

/**
 * The log is ordered by arrival and a row comes into it when its request has ended: rows this far back are looked at again,
 * from the beginning of their day on, since whole days are counted without being read.
 */
const LOOK_BACK_US = DAY_US;
/** The first page that is read back spans this; what a page's window holds is counted by reading it. */
const SPAN_US = 15 * 60 * 1_000_000;
/** Pages that are read when the log is opened: rows further back are told from new ones by their ending alone. */
const FIRST_PAGES_MAX = 10;
/** Pages of one look. */
const NEW_PAGES_MAX = 40;
/** Rows are committed in batches, so that one may come into the log after another that ended later. */
const COMMIT_LATENESS_US = 5_000_000;

/** A page of the request log, as `GET /stats/requests` answers it. */
export type RequestPage = AnswerOf<"GET /stats/requests">;
export type RequestRow = RequestPage["requests"][number];

/** The fields of a row that tell when it arrived and ended. */
interface LogRow {
  readonly id: string;
  readonly ts: string;
  readonly duration_ms: number;
}

type ReadPage<Row> = (
  query: ReportQuery,
) => Promise<Report<{ readonly requests: readonly Row[]; readonly total: number }>>;
export type ReadRequests = ReadPage<RequestRow>;

export interface NewRows<Row> {
  /** In the order in which they ended. */
  readonly rows: readonly Row[];
  /** Count of rows that one look leaves out; the next does not show them. */
  readonly leftOutCount: number;
}

/** The end of the request log, from a moment on. */
export interface LogTail<Row> {
  /** The newest rows of that moment, the newest first, a page at most. */
  readonly newest: readonly Row[];
  readonly notices: readonly string[];
  /**
   * The rows that have come into the log since the last look. A look that fails changes nothing: the next one finds what
   * it would have found.
   */
  readNew(): Promise<NewRows<Row>>;
}

/**
 * The count of rows in the window, a day at least, tells how many are new; pages are read, from the newest, until so many were found. A row
 * is new when it is unknown and did not end long before the last that was seen, so that what has to be remembered is what
 * ended within the last few seconds. `query` holds the filters.
 */
export async function openLogTail<Row extends LogRow>(
  read: ReadPage<Row>,
  query: ReportQuery,
): Promise<LogTail<Row>> {
  const windowStartUs = parseInstant(String(query["since"] ?? ""));
  const readPage = async ({ sinceUs, untilUs, limit = PAGE_LIMIT_MAX }: PageBounds) => {
    const window = {
      ...(sinceUs !== null && { since: formatInstant(sinceUs) }),
      ...(untilUs !== undefined && { until: formatInstant(untilUs) }),
    };
    const { body, notices } = await read({ ...query, ...window, limit: String(limit) });
    return { rows: body.requests, total: body.total, notices };
  };
  const toSinceUs = (endedAtUs: number) =>
    Math.max(windowStartUs ?? 0, Math.floor((endedAtUs - LOOK_BACK_US) / DAY_US) * DAY_US);

  const seen = new Map<string, number>();
  let lastUs = Number.NEGATIVE_INFINITY;
  const take = (rows: readonly Row[]) => {
    const horizonUs = lastUs - COMMIT_LATENESS_US;
    for (const row of rows) {
      const endedAtUs = toEndedAtUs(row);
      seen.set(row.id, endedAtUs);
      lastUs = Math.max(lastUs, endedAtUs);
    }
    // Rows that cannot be new again need no remembering.
    for (const [id, endedAtUs] of seen) if (endedAtUs < horizonUs) seen.delete(id);
  };

  const first = await readPage({ sinceUs: windowStartUs });
  take(first.rows);
  let sinceUs = first.rows.length === 0 ? windowStartUs : toSinceUs(lastUs);
  const begun = await readPage({ sinceUs });
  take(begun.rows);
  let knownCount = begun.total;
  /** Page after page, the newer first, of what arrived before the oldest of `newer`; none when that was all there is. */
  const readBack = async function* (newer: readonly Row[]) {
    const beginningUs = sinceUs ?? 0;
    let untilUs = newer.length === PAGE_LIMIT_MAX ? toOldestUs(newer) : beginningUs;
    let spanUs = SPAN_US;
    while (untilUs > beginningUs) {
      const fromUs = Math.max(beginningUs, untilUs - spanUs);
      const { rows } = await readPage({ sinceUs: fromUs, untilUs });
      const isFull = rows.length === PAGE_LIMIT_MAX;
      untilUs = isFull ? toOldestUs(rows) : fromUs;
      if (!isFull) spanUs *= 2;
      yield { rows, fromUs: untilUs };
    }
  };
  /** Every row that had arrived from here on was read at the beginning. */
  let coveredFromUs = begun.rows.length === PAGE_LIMIT_MAX ? toOldestUs(begun.rows) : (sinceUs ?? 0);
  let pagesBegun = 1;
  for await (const { rows, fromUs } of readBack(begun.rows)) {
    take(rows);
    coveredFromUs = fromUs;
    pagesBegun += 1;
    if (pagesBegun === FIRST_PAGES_MAX) break;
  }
  const begunUs = lastUs;

  const isNew = (row: Row) => {
    const endedAtUs = toEndedAtUs(row);
    if (seen.has(row.id) || endedAtUs < lastUs - COMMIT_LATENESS_US) return false;
    return endedAtUs > begunUs || toArrivedAtUs(row) >= coveredFromUs;
  };
  /** Brings the window's start along with its end. */
  const rebase = async () => {
    if (lastUs === Number.NEGATIVE_INFINITY) return;
    const laterUs = toSinceUs(lastUs);
    if (laterUs <= (sinceUs ?? 0)) return;
    const { total } = await readPage({ sinceUs, untilUs: laterUs, limit: 1 });
    sinceUs = laterUs;
    knownCount -= total;
  };

  return {
    newest: [...new Map([...begun.rows, ...first.rows].map((row) => [row.id, row])).values()],
    notices: first.notices,
    async readNew() {
      await rebase();
      const found = new Map<string, Row>();
      const { rows, total } = await readPage({ sinceUs });
      const wantedCount = total - knownCount;
      const find = (among: readonly Row[]) => {
        for (const row of among) if (isNew(row)) found.set(row.id, row);
        return found.size < wantedCount;
      };
      let pages = 1;
      if (find(rows)) {
        for await (const older of readBack(rows)) {
          pages += 1;
          if (!find(older.rows) || pages === NEW_PAGES_MAX) break;
        }
      }
      const fresh = [...found.values()].toSorted((left, right) => toEndedAtUs(left) - toEndedAtUs(right));
      take(fresh);
      const leftOutCount = pages >= NEW_PAGES_MAX ? Math.max(0, wantedCount - found.size) : 0;
      // Rows that came while the later pages were read were not counted by the first.
      knownCount = pages === 1 ? total : Math.max(total, knownCount + found.size);
      return { rows: fresh, leftOutCount };
    },
  };
}

interface PageBounds {
  /** Null: from the log's beginning. */
  readonly sinceUs: number | null;
  readonly untilUs?: number;
  readonly limit?: number;
}

function toOldestUs(page: readonly LogRow[]): number {
  const oldest = page.at(-1);
  return oldest === undefined ? 0 : toArrivedAtUs(oldest);
}

function toArrivedAtUs(row: LogRow): number {
  return parseInstant(row.ts) ?? 0;
}

function toEndedAtUs(row: LogRow): number {
  return toArrivedAtUs(row) + Math.round(row.duration_ms * 1000);
}
