import type { Catalog } from "#catalog/catalog.ts";
import { negotiateFormat } from "#http/door/negotiation.ts";
import { pageView, slicePage } from "#http/door/paging.ts";
import type { Refusal, Refusals } from "#http/door/refusals.ts";
import type { IdentityStore } from "#identity/store.ts";
import { createDeadlines } from "#kernel/cancellation.ts";
import type { Clock } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { parseEventUuid } from "#kernel/ids.ts";
import type { Log } from "#kernel/log.ts";
import { type Page, PAGE_LIMIT_MAX, parsePage, parseWholeNumber } from "#kernel/page.ts";
import { EVERY_PROVIDER, filterBy } from "#stats/filter.ts";
import { toProviderName } from "#stats/grouping.ts";
import { type LogOrder, type RequestLogRow, parseLogOrder } from "#stats/request-log.ts";
import type { ReportContext, ReportNotes, StatsStore, StatsQuery } from "#stats/store.ts";
import { toRequestView, type NamedRequestRow } from "#views/reports.ts";
import { toRefusalView } from "#views/refusals.ts";
import { findLogged, sliceLogged } from "./refusals.ts";
import { createRequestCsv, findRareContent, streamRequestCsv } from "./request-csv.ts";
import {
  type Asking,
  parseTeamQuery,
  queryOf,
  toJsonReport,
  toReportContext,
  toReportHeaders,
  toReportOptions,
} from "./report.ts";

export interface RequestLogDeps {
  readonly catalog: Catalog;
  readonly identity: Pick<IdentityStore, "keys">;
  readonly stats: Pick<StatsStore, "listRequests" | "listRecorded">;
  readonly clock: Clock;
  readonly log: Log;
}

export interface RequestLog {
  /** Throws `invalid_outcome`, `invalid_date`, `invalid_request` and `range_too_large`. */
  answer(asking: Asking): Promise<Response>;
  /**
   * What became of the request of this id, of one principal alone where there is one. It waits for events that have just ended.
   * Refusals are told to their caller and to admins.
   */
  find(asking: Asking, id: string, principalId: string | null): Promise<FoundRequest>;
}

/** One of the two at most. */
interface FoundRequest {
  readonly request: ReturnType<typeof toRequestView> | null;
  readonly refusal: ReturnType<typeof toRefusalView> | null;
}

export type LogRefusals = Pick<Refusals, "find" | "newest" | "added">;

const NO_NOTES: ReportNotes = { snapped: null, truncated: false };
const FILENAME = "requests.csv";

/**
 * The request metadata log, newest first, failures included, never content (specification, sections 4.4 and 4.6; rows from
 * the decisions, "Reports"). As CSV it is the page that `limit` or `offset` ask for, or without them every row. With `after`
 * it is what was recorded since, as JSON.
 */
export function createRequestLog(
  { catalog, identity, stats, clock, log }: RequestLogDeps,
  refusals: LogRefusals,
): RequestLog {
  const deadlines = createDeadlines(() => clock.monotonicMs());

  return {
    async answer(asking) {
      const { request } = asking;
      const query = queryOf(request);
      const snapshot = await catalog.snapshot();
      const asked = parseTeamQuery(query, snapshot);
      const [limit, offset] = [query.get("limit"), query.get("offset")];
      const page = parsePage({ limit, offset });
      const after = query.get("after");
      const order = parseLogOrder(query);
      const hasRefusals = query.get("refusals") === "1";
      const toLogged = (kept: readonly Refusal[]) =>
        isRefusedAsked(query) ? findLogged(kept, { asked, principalId: toReaderOfRefusals(asking) }) : [];
      const format = negotiateFormat(request.headers);
      const context = toReportContext(snapshot, clock.nowUs());
      const toHeaders = (notes: ReportNotes) => toReportHeaders({ notes, format, filename: FILENAME });

      if (after !== null) {
        if (order !== "newest") throw toOrderRefusal("What is new comes newest first: leave out order.");
        const { rows, total, cursor, hasGap } = await stats.listRecorded(
          asked,
          { ...page, after: hasRefusals ? after.slice(after.indexOf("~") + 1) : after },
          toReportOptions(asking),
        );
        const requests = (await joinNames(rows, context, identity)).map(toRequestView);
        const recorded = { requests, ...pageView(page, total), cursor, gap: hasGap };
        if (!hasRefusals) return toJsonReport(recorded, NO_NOTES);
        // The cursor of the log behind the count of refusals that this server had.
        const added = refusals.added();
        const former = parseWholeNumber(after.slice(0, Math.max(0, after.indexOf("~")))) ?? added;
        const fresh = toLogged(refusals.newest().slice(0, Math.max(0, added - former)));
        return toJsonReport(
          {
            ...recorded,
            refusals: fresh.slice(0, page.limit).map(toRefusalView),
            cursor: `${added}~${cursor}`,
            gap: hasGap || fresh.length > page.limit,
          },
          NO_NOTES,
        );
      }
      if (format === "csv" && !limit && !offset) {
        if (order !== "newest") {
          throw toOrderRefusal("Every row as CSV comes newest first: leave out order, or ask for a page.");
        }
        // Without this the whole log would be read, only to tell its length.
        if (request.method === "HEAD") return new Response(null, { headers: toHeaders(NO_NOTES) });
        const { body, notes } = await streamRequestCsv({
          asked,
          stats,
          join: (rows) => joinNames(rows, context, identity),
          caller: request,
          askerId: asking.caller.principal.id,
          deadlines,
          log,
        });
        return new Response(body, { headers: toHeaders(notes) });
      }
      // One row more tells where the next page begins.
      const read = hasRefusals ? { ...page, limit: page.limit + 1 } : page;
      const report = await stats.listRequests(asked, read, { ...toReportOptions(asking), order });
      const rows = await joinNames(report.rows.slice(0, page.limit), context, identity);
      const csv = createRequestCsv(findRareContent(rows));
      const body =
        format === "csv"
          ? csv.header + csv.toRows(rows)
          : JSON.stringify({
              requests: rows.map(toRequestView),
              ...pageView(page, report.total),
              ...(hasRefusals && toRefusalPage(toLogged(refusals.newest()), { page, order, asked, report })),
            });
      return new Response(body, { headers: toHeaders(report) });
    },

    async find(asking, text, principalId) {
      const id = text.trim().toLowerCase();
      const origin = parseEventUuid(id);
      if (origin === null) return { request: null, refusal: null };
      const { eventId: sinceUs } = origin;
      // Replicas give one microsecond to a request each.
      const { rows } = await stats.listRequests(
        { ...EVERYTHING, principalId, window: { sinceUs, untilUs: sinceUs + 1 } },
        { limit: PAGE_LIMIT_MAX, offset: 0 },
        toReportOptions(asking),
      );
      const context = toReportContext(await catalog.snapshot(), clock.nowUs());
      const [named] = await joinNames(
        rows.filter((row) => row.id === id),
        context,
        identity,
      );
      if (named !== undefined) return { request: toRequestView(named), refusal: null };
      const refusal = refusals.find(id, principalId ?? toReaderOfRefusals(asking));
      return { request: null, refusal: refusal === null ? null : toRefusalView(refusal) };
    },
  };
}

/** Tells whether the outcomes that are asked for have `refused` among them. */
function isRefusedAsked(query: URLSearchParams): boolean {
  const outcomes = query.getAll("outcome").filter((value) => value !== "");
  return outcomes.length === 0 || outcomes.includes("refused");
}

interface RefusalPage {
  readonly page: Page;
  readonly order: LogOrder;
  readonly asked: StatsQuery;
  readonly report: { readonly rows: readonly RequestLogRow[] };
}

/** Refusals beside the rows of a page, or a page of refusals where nothing else is asked for. They have no cost and no duration to be sorted by. */
function toRefusalPage(logged: readonly Refusal[], { page, order, asked, report }: RefusalPage) {
  const isByTime = order === "newest" || order === "oldest";
  const shown =
    asked.filter.outcomes?.length === 0
      ? slicePage(order === "oldest" ? logged.toReversed() : logged, page)
      : isByTime
        ? sliceLogged(logged, { page, order, arrivals: report.rows.map(({ arrivedAtUs }) => arrivedAtUs) })
        : [];
  return { refusals: shown.map(toRefusalView), refusals_total: logged.length };
}

/** Whose refusals alone are told; null for admins, who are told all of them. */
function toReaderOfRefusals({ caller: { principal } }: Asking): string | null {
  return principal.role === "admin" ? null : principal.id;
}

const EVERYTHING = { filter: filterBy({}), providers: EVERY_PROVIDER } as const;

function toOrderRefusal(message: string): ProxyError {
  return new ProxyError("invalid_request", message, { param: "order" });
}

/** A provider that is gone is `(deleted)`, a key that is gone has no label. */
async function joinNames(
  rows: readonly RequestLogRow[],
  context: ReportContext,
  identity: RequestLogDeps["identity"],
): Promise<readonly NamedRequestRow[]> {
  if (rows.length === 0) return [];
  const names = await identity.keys.findNames([...new Set(rows.flatMap(({ keyId }) => keyId ?? []))]);
  return rows.map((row) => ({
    row,
    providerName: toProviderName(row.providerId, context),
    keyLabel: row.keyId === null ? null : (names.get(row.keyId)?.label ?? null),
  }));
}
