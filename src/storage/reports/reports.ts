import type { InstantUs } from "#kernel/clock.ts";
import type { EncodedReport, ReportCoding, ReportTransfer, StatsQuery } from "#stats/store.ts";
import { all, dialectOf, type Script } from "#storage/sql/script.ts";
import { findEvent } from "#storage/writer/settlements.ts";
import { readBilledDay } from "./billed-day.ts";
import { findRepricing, listRepricings } from "#storage/repricing/repricing-rows.ts";
import { planStretch, repriceStretch, revertStretch, sumApplied } from "#storage/repricing/stretch.ts";
import { readBreakdown } from "./breakdown.ts";
import { readClientChanges } from "./client-changes.ts";
import { readCostWindows } from "./cost-change.ts";
import { readErrors } from "./errors.ts";
import { readFacets } from "./facets.ts";
import { readHourSpend } from "./hour-spend.ts";
import { sumLimits } from "./limit-sums.ts";
import { readMissingPrices } from "./missing-prices.ts";
import { readModelUse } from "./model-use.ts";
import { reconcileBills } from "./reconcile.ts";
import { listRecorded, listRequests, type RequestPage } from "./request-log.ts";
import { readRetryStorms } from "./retry-storms.ts";
import { readGroupedSeries, readSeries } from "./series.ts";
import { readStatement } from "./statement.ts";
import { readSummary } from "./summary.ts";

/**
 * Everything that a ledger is asked, by name; a new report is one line here. Each script is read within one transaction. It
 * throws ProxyError for a refusal; anything else that it throws is a bug, or the database's.
 */
export const REPORTS = {
  listRequests: ({ query, page }: { readonly query: StatsQuery; readonly page: RequestPage }) =>
    listRequests(query, page),
  listRecorded,
  loadLastUsed,
  findEvent,
  readSeries,
  readGroupedSeries: compressed(readGroupedSeries),
  readSummary: compressed(readSummary),
  readBreakdown,
  readFacets,
  readErrors: compressed(readErrors),
  readClientChanges,
  readRetryStorms,
  readMissingPrices,
  reconcile: reconcileBills,
  readModelUse,
  readCostWindows,
  readBilledDay,
  readStatement,
  sumLimits,
  readHourSpend,
  planStretch,
  repriceStretch,
  revertStretch,
  sumApplied,
  findRepricing,
  listRepricings,
};

export type ReportName = keyof typeof REPORTS;
export type QuestionOf<Name extends ReportName> = Parameters<(typeof REPORTS)[Name]>[0];
export type AnswerOf<Name extends ReportName> =
  ReturnType<(typeof REPORTS)[Name]> extends Script<infer Answer> ? Answer : never;

type Scripts = {
  readonly [Name in ReportName]: (question: QuestionOf<Name>) => Script<AnswerOf<Name>>;
};
const SCRIPTS: Scripts = REPORTS;

/** The script that answers a question. */
export function toScript<Name extends ReportName>(
  name: Name,
  question: QuestionOf<Name>,
): Script<AnswerOf<Name>> {
  return SCRIPTS[name](question);
}

/** When keys were last used, as committed; an id that was never used is absent. */
export function* loadLastUsed(ids: readonly string[]): Script<ReadonlyMap<string, InstantUs>> {
  const { isAnyOf } = yield* dialectOf();
  const rows = yield* all<{ key_id: string; last_used_us: number }>(
    `SELECT key_id, last_used_us FROM key_use WHERE ${isAnyOf("key_id", "text")}`,
    [ids],
  );
  return new Map(rows.map((row) => [row.key_id, row.last_used_us]));
}

function compressed<Question extends Partial<ReportTransfer>>(
  report: (question: Question) => Script<EncodedReport>,
) {
  return function* compress(question: Question): Script<EncodedReport> {
    return compressReport(yield* report(question), question);
  };
}

/** A smaller report gains nothing: it fills a packet or two as it is. */
const COMPRESSED_BYTES_MIN = 1_024;
/** Chunks are about this long, as those of a report that is not compressed. */
const CHUNK_BYTES = 64 * 1024;

/** Levels that take some 5 to 20 ms for a megabyte of a report, which becomes a tenth or less (measured). */
const COMPRESS: {
  readonly [coding in Exclude<ReportCoding, "identity">]: (bytes: Uint8Array) => Uint8Array;
} = {
  zstd: (bytes) => loadCodings().zstdCompressSync(bytes),
  br: (bytes) => {
    const { brotliCompressSync, constants } = loadCodings();
    return brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } });
  },
  gzip: (bytes) => loadCodings().gzipSync(bytes, { level: 4 }),
};

/** Loaded by the first report that is compressed: the thread that serves loads this file and compresses nothing. */
function loadCodings() {
  return process.getBuiltinModule("node:zlib");
}

/** An encoded report in the coding that was asked for, compressed by the thread that has read it. */
function compressReport(
  report: EncodedReport,
  { coding = "identity" }: Partial<ReportTransfer>,
): EncodedReport {
  const sizeBytes = report.chunks.reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (coding === "identity" || sizeBytes < COMPRESSED_BYTES_MIN) return report;
  // A copy, since the runtime may keep what it returns in a buffer that others share, and chunks are handed over.
  const bytes = new Uint8Array(COMPRESS[coding](Buffer.concat(report.chunks)));
  const chunks = Array.from({ length: Math.ceil(bytes.length / CHUNK_BYTES) }, (_, index) =>
    bytes.subarray(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
  );
  return { ...report, chunks, coding };
}
