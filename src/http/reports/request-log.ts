import type { Catalog } from "#catalog/catalog.ts";
import type { IdentityStore } from "#identity/store.ts";
import type { Clock } from "#kernel/clock.ts";
import { createDeadlines } from "#kernel/deadlines.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import { parseEventUuid } from "#kernel/ids.ts";
import { PAGE_LIMIT_MAX, parsePage } from "#kernel/page.ts";
import { EVERY_PROVIDER, filterBy } from "#stats/filter.ts";
import { parseLogOrder } from "#stats/log-order.ts";
import { toProviderName } from "#stats/grouping.ts";
import type { RequestLogRow } from "#stats/request-log.ts";
import type { ReportContext, ReportNotes, StatsStore } from "#stats/store.ts";
import { negotiateFormat } from "#http/door/negotiation.ts";
import { pageView } from "#http/door/paging.ts";
import {
  type Asking,
  parseTeamQuery,
  queryOf,
  toJsonReport,
  toReportContext,
  toReportHeaders,
  toReportOptions,
} from "./report.ts";
import { toRequestView, type NamedRequestRow } from "#views/reports.ts";
import { createRequestCsv, findRareContent, streamRequestCsv } from "./request-csv.ts";

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
  /** The row of this id; null where the log has none. */
  find(asking: Asking, id: string): Promise<ReturnType<typeof toRequestView> | null>;
}

const NO_NOTES: ReportNotes = { snapped: null, truncated: false };
const FILENAME = "requests.csv";

/**
 * The request metadata log, newest first, failures included, never content (specification, sections 4.4 and 4.6; rows from
 * the decisions, "Reports"). As CSV it is the page that `limit` or `offset` ask for, or without them every row. With `after`
 * it is what was recorded since, as JSON.
 */
export function createRequestLog({ catalog, identity, stats, clock, log }: RequestLogDeps): RequestLog {
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
      const format = negotiateFormat(request.headers);
      const context = toReportContext(snapshot, clock.nowUs());
      const toHeaders = (notes: ReportNotes) => toReportHeaders({ notes, format, filename: FILENAME });

      if (after !== null) {
        if (order !== "newest") throw toOrderRefusal("What is new comes newest first: leave out order.");
        const { rows, total, cursor, hasGap } = await stats.listRecorded(
          asked,
          { ...page, after },
          toReportOptions(asking),
        );
        const requests = (await joinNames(rows, context, identity)).map(toRequestView);
        return toJsonReport({ requests, ...pageView(page, total), cursor, gap: hasGap }, NO_NOTES);
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
      const report = await stats.listRequests(asked, page, {
        ...toReportOptions(asking),
        order,
      });
      const rows = await joinNames(report.rows, context, identity);
      const csv = createRequestCsv(findRareContent(rows));
      const body =
        format === "csv"
          ? csv.header + csv.toRows(rows)
          : JSON.stringify({ requests: rows.map(toRequestView), ...pageView(page, report.total) });
      return new Response(body, { headers: toHeaders(report) });
    },

    async find(asking, id) {
      const origin = parseEventUuid(id);
      if (origin === null) return null;
      const { eventId: sinceUs } = origin;
      // Replicas give one microsecond to a request each.
      const { rows } = await stats.listRequests(
        { ...EVERYTHING, window: { sinceUs, untilUs: sinceUs + 1 } },
        { limit: PAGE_LIMIT_MAX, offset: 0 },
        toReportOptions(asking),
      );
      const context = toReportContext(await catalog.snapshot(), clock.nowUs());
      const [named] = await joinNames(
        rows.filter((row) => row.id === id),
        context,
        identity,
      );
      return named === undefined ? null : toRequestView(named);
    },
  };
}

const EVERYTHING = { filter: filterBy({}), providers: EVERY_PROVIDER, principalId: null } as const;

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
