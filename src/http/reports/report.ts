import type { CatalogSnapshot } from "#catalog/snapshot.ts";
import type { Caller } from "#identity/caller.ts";
import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { parseBucket, planBuckets, type Bucket, parseWindow } from "#stats/bucket.ts";
import { EVERY_PROVIDER, filterBy, parseUsageFilter, toProviderIds, type Window } from "#stats/filter.ts";
import type {
  EncodedReport,
  ReportContext,
  ReportFormat,
  ReportNotes,
  ReportOptions,
  ReportTransfer,
  StatsQuery,
} from "#stats/store.ts";
import { REPORT_CODINGS } from "#stats/store.ts";
import { ProxyError } from "#kernel/errors.ts";
import { FILTER_QUERY, WINDOW_QUERY } from "./declared.ts";
import { negotiateCoding } from "#http/door/negotiation.ts";

/** The request for a report, and its caller. */
export interface Asking {
  readonly request: Request;
  readonly caller: Caller;
}

export function toReportOptions({ request, caller }: Asking): ReportOptions {
  return { signal: request.signal, askerId: caller.principal.id };
}

/** The query string of a report, as it was sent: a `tag` may occur more than once. */
export function queryOf(request: Request): URLSearchParams {
  return new URL(request.url).searchParams;
}

interface BodyQuery {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly filters?: { readonly [name: string]: string | number | readonly string[] } | undefined;
}

/** The window and the filters of a body as a report's query string has them. Throws `invalid_request` for a filter that is none. */
export function toBodyQuery(
  { since = "", until = "", filters = {} }: BodyQuery,
  ownFields: readonly string[] = [],
): URLSearchParams {
  const query = new URLSearchParams({ since, until });
  const left = new Set([...ownFields, ...WINDOW_QUERY.map(({ name }) => name)]);
  const names = FILTER_QUERY.map(({ name }) => name).filter((name) => !left.has(name));
  for (const [name, value] of Object.entries(filters)) {
    if (!names.includes(name)) {
      throw new ProxyError("invalid_request", `filters takes ${names.join(", ")}.`, { param: "filters" });
    }
    for (const text of typeof value === "object" ? value : [String(value)]) query.append(name, text);
  }
  return query;
}

/** Every filter of specification section 4.4, and the window. Throws `invalid_outcome`, `invalid_date`, `invalid_request`. */
export function parseTeamQuery(query: URLSearchParams, snapshot: CatalogSnapshot): StatsQuery {
  const { providers, ...filter } = parseUsageFilter(query);
  return {
    window: parseWindow(query),
    filter,
    providers: toProviderIds(providers, snapshot.providers),
    principalId: null,
  };
}

/** The usage of one principal under all its names (section 4.3): the window alone. Throws `invalid_date`. */
export function parseOwnQuery(query: URLSearchParams, principalId: string): StatsQuery {
  return { window: parseWindow(query), filter: filterBy({}), providers: EVERY_PROVIDER, principalId };
}

/**
 * The bucket of a series (section 4). Throws `invalid_bucket`, and `range_too_large` when the window alone tells that there
 * are too many: nothing has been read or queued by then.
 */
export function parseSeriesBucket(query: URLSearchParams, window: Window, nowUs: InstantUs): Bucket {
  const bucket = parseBucket(query);
  const { sinceUs, untilUs } = window;
  if (sinceUs !== null) planBuckets({ bucket, sinceUs, untilUs, nowUs });
  return bucket;
}

export function toReportContext(snapshot: CatalogSnapshot, nowUs: InstantUs): ReportContext {
  return { nowUs, providerNames: new Map(snapshot.providers.map(({ id, name }) => [id, name])) };
}

const CONTENT_TYPES: { readonly [format in ReportFormat]: string } = {
  json: "application/json",
  // RFC 4180, section 3.
  csv: "text/csv; charset=utf-8; header=present",
};

export interface ReportHeaders {
  readonly notes: ReportNotes;
  readonly format: ReportFormat;
  /** The name under which a browser saves the CSV. */
  readonly filename: string;
}

/** Headers of a report that comes as JSON or as CSV. */
export function toReportHeaders({ notes, format, filename }: ReportHeaders): Headers {
  const headers = toNoteHeaders(notes);
  headers.set("content-type", CONTENT_TYPES[format]);
  headers.set("vary", "accept, accept-encoding");
  if (format === "csv") headers.set("content-disposition", `attachment; filename="${filename}"`);
  return headers;
}

/** Headers of a report that comes as JSON only. */
export function toJsonHeaders(notes: ReportNotes): Headers {
  const headers = toNoteHeaders(notes);
  headers.set("content-type", CONTENT_TYPES.json);
  return headers;
}

export function toJsonReport(view: object, notes: ReportNotes): Response {
  return new Response(JSON.stringify(view), { headers: toJsonHeaders(notes) });
}

/** Chunks of a report that go out in one turn of the event loop: a quarter of a megabyte. */
const CHUNKS_PER_TURN = 4;

/** The coding in which a report is to come from its reader. */
export function toReportTransfer({ headers }: Request): ReportTransfer {
  return { coding: negotiateCoding(headers, REPORT_CODINGS) };
}

/** A report that is encoded already, passed on as it is. A long one has no length: the runtime sends streams in chunks. */
export function toEncodedResponse({ chunks, coding }: EncodedReport, headers: Headers): Response {
  if (coding !== undefined) headers.set("content-encoding", coding);
  if (chunks.length <= CHUNKS_PER_TURN) return new Response(new Blob([...chunks]), { headers });
  return new Response(toPacedBody(chunks), { headers });
}

/**
 * A long body in turns: to join one of 19 MB, and to send what the connection takes at once, held up every other request for
 * 16 ms.
 */
function toPacedBody(chunks: EncodedReport["chunks"]): ReadableStream<Uint8Array> {
  let hasLeft = false;
  return new ReadableStream<Uint8Array>({
    type: "direct",
    async pull(controller) {
      try {
        for (const [index, chunk] of chunks.entries()) {
          if (hasLeft) return;
          // The promise of a write is what holds back the next one from a caller that reads slowly.
          await controller.write(chunk);
          if (index % CHUNKS_PER_TURN !== CHUNKS_PER_TURN - 1) continue;
          await controller.flush();
          await new Promise((resolve) => setImmediate(resolve));
        }
        controller.close();
      } catch {
        // The caller has gone; a rejection that nothing takes would end the process.
      }
    },
    cancel() {
      hasLeft = true;
    },
  });
}

/**
 * `x-proxy-window`: the interval (ISO 8601) that was counted, where it is not the one that was asked for.
 * `x-proxy-truncated`: rows beyond a limit were left out, or stand together as `(other)`.
 */
function toNoteHeaders({ snapped, truncated }: ReportNotes): Headers {
  const headers = new Headers();
  if (snapped !== null) {
    headers.set("x-proxy-window", `${formatInstant(snapped.sinceUs)}/${formatInstant(snapped.untilUs)}`);
  }
  if (truncated) headers.set("x-proxy-truncated", "true");
  return headers;
}
