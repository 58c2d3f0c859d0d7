import { formatInstant, type InstantUs } from "#kernel/clock.ts";
import { joinPieces, spellOnce, toChunks } from "./chunks.ts";
import { type ReportSubject, groupRows, keepMostUsed, splitTags, toProviderName } from "./grouping.ts";
import type { EncodedReport, ReportContext, Series, SeriesBucket } from "./store.ts";

/** The times to an outcome that are told apart (specification, section 4.4), shortest first. */
export const DURATION_BANDS = ["<1s", "1-5s", "5-15s", "15-30s", "30-60s", "60-120s", ">=120s"] as const;

/** How often one subject's requests ended in one way in a part of the window. */
export interface ErrorsPart {
  readonly subject: ReportSubject;
  readonly outcome: string;
  readonly errorKind: string | null;
  readonly statusCode: number;
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
  const { groupOf, count } = groupRows<ErrorsPart>(parts, [
    ({ subject }) => toProviderName(subject.providerId, context),
    ({ subject }) => subject.model,
    ({ subject }) => subject.endpoint,
    ({ subject }) => subject.client,
    ({ subject }) => subject.tags,
    ({ outcome }) => outcome,
    ({ errorKind }) => errorKind,
    ({ statusCode }) => statusCode,
  ]);
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

/** Put together by hand: building objects for tens of thousands of rows first takes several times as long. */
function* toPieces(series: Series, cells: readonly Cell[], context: ReportContext): Generator<string> {
  const spell = spellOnce((text: string | null) => JSON.stringify(text));
  const spellTags = spellOnce((tags: string) => JSON.stringify(splitTags(tags)));
  const toPiece = (cell: Cell) => {
    const { providerId, model, endpoint, client, tags } = cell.subject;
    const subject = `"provider":${spell(toProviderName(providerId, context))},"model":${spell(model)},"endpoint":${spell(endpoint)},"client":${spell(client)},"tags":${spellTags(tags)}`;
    const result = `"outcome":${spell(cell.outcome)},"error_kind":${spell(cell.errorKind)},"status_code":${cell.statusCode}`;
    const averageMs = cell.durationUs / cell.requests / 1000;
    return `{${subject},${result},"requests":${cell.requests},"avg_duration_ms":${averageMs},"last_seen":"${formatInstant(cell.lastSeenUs)}","bands":{${toBands(cell)}}}`;
  };
  yield `{"bucket":${JSON.stringify(series.bucket)},"series":[`;
  yield* joinPieces(series.buckets.values().map(toSeriesPiece));
  yield '],"breakdown":[';
  yield* joinPieces(cells.values().map(toPiece));
  yield "]}";
}

function toSeriesPiece({ startUs, ok, upstreamError, unreachable, cancelled }: SeriesBucket): string {
  const start = formatInstant(startUs);
  return JSON.stringify({ start, ok, upstream_error: upstreamError, unreachable, cancelled });
}

function toBands({ bands }: Cell): string {
  return DURATION_BANDS.map((band, place) => `"${band}":${bands[place] ?? 0}`).join(",");
}
