import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { makeOnce, toChunks, toMembers } from "./chunks.ts";
import {
  groupBySubject,
  groupRows,
  keepMostUsed,
  type ReportSubject,
  splitTags,
  toProviderName,
} from "./grouping.ts";
import type { EncodedReport, ReportContext, Series, SeriesBucket } from "./store.ts";

/** The times to an outcome that are told apart (specification, section 4.4), shortest first. */
export const DURATION_BANDS = ["<1s", "1-5s", "5-15s", "15-30s", "30-60s", "60-120s", ">=120s"] as const;

/** How often one subject's requests ended in one way in a part of the window. */
export interface ErrorsPart {
  readonly subject: ReportSubject;
  readonly outcome: string;
  readonly errorKind: string | null;
  readonly statusCode: number;
  /** Why upstreams gave no answer; null where that is not known. */
  readonly failure: string | null;
  readonly requests: number;
  readonly durationUs: number;
  readonly lastSeenUs: InstantUs;
  /** Requests in each of `DURATION_BANDS`. */
  readonly bands: readonly number[];
}

/**
 * `{bucket, series, breakdown}` of `GET /stats/errors` (decisions, "Reports"). The breakdown is sorted by its key, in the
 * order of its fields, by code unit, null first.
 */
export function encodeErrors(
  series: Series,
  parts: readonly ErrorsPart[],
  context: ReportContext,
): Pick<EncodedReport, "chunks" | "truncated"> {
  const subjects = groupBySubject(parts, [
    ({ providerId }) => toProviderName(providerId, context),
    ({ model }) => model,
    ({ endpoint }) => endpoint,
    ({ client }) => client,
    ({ tags }) => tags,
  ]);
  const { groupOf, count } = groupRows(
    parts,
    [
      ({ outcome }) => outcome,
      ({ errorKind }) => errorKind,
      ({ statusCode }) => statusCode,
      ({ failure }) => failure,
    ],
    subjects,
  );
  const groups = Array.from({ length: count }, (): Cell | null => null);
  for (const [index, part] of parts.entries()) {
    const group = groupOf[index] ?? 0;
    const cell = groups[group] ?? null;
    if (cell === null) groups[group] = { ...part, bands: [...part.bands] };
    else add(cell, part);
  }
  const cells = groups.filter((cell) => cell !== null);
  const { rows, truncated } = keepMostUsed(cells);
  return { chunks: toChunks(toPieces(series, rows, context)), truncated };
}

interface Cell extends ErrorsPart {
  requests: number;
  durationUs: number;
  lastSeenUs: InstantUs;
  bands: number[];
}

function add(cell: Cell, part: ErrorsPart): void {
  cell.requests += part.requests;
  cell.durationUs += part.durationUs;
  cell.lastSeenUs = Math.max(cell.lastSeenUs, part.lastSeenUs);
  for (const [band, requests] of part.bands.entries()) cell.bands[band] = (cell.bands[band] ?? 0) + requests;
}

function* toPieces(series: Series, cells: readonly Cell[], context: ReportContext): Generator<string> {
  const tagsOf = makeOnce(splitTags);
  yield `{"bucket":${JSON.stringify(series.bucket)},"series":[`;
  yield* toMembers(series.buckets, toBucketView);
  yield '],"breakdown":[';
  yield* toMembers(cells, (cell) => ({
    provider: toProviderName(cell.subject.providerId, context),
    model: cell.subject.model,
    endpoint: cell.subject.endpoint,
    client: cell.subject.client,
    tags: tagsOf(cell.subject.tags),
    outcome: cell.outcome,
    error_kind: cell.errorKind,
    status_code: cell.statusCode,
    ...(cell.failure !== null && { failure: cell.failure }),
    requests: cell.requests,
    avg_duration_ms: cell.durationUs / cell.requests / 1000,
    last_seen: formatInstant(cell.lastSeenUs),
    bands: toBandsView(cell.bands),
  }));
  yield "]}";
}

function toBucketView({ startUs, ok, upstreamError, unreachable, cancelled }: SeriesBucket) {
  return { start: formatInstant(startUs), ok, upstream_error: upstreamError, unreachable, cancelled };
}

function toBandsView(bands: readonly number[]): { [band in (typeof DURATION_BANDS)[number]]?: number } {
  const view: ReturnType<typeof toBandsView> = {};
  let place = 0;
  for (const band of DURATION_BANDS) view[band] = bands[place++] ?? 0;
  return view;
}
