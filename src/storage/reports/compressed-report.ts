import type { EncodedReport, ReportCoding, ReportTransfer } from "#stats/store.ts";

/** What is smaller gains nothing: it fills a packet or two as it is. */
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
export function compressReport(
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
