import type { ReportFormat } from "#stats/store.ts";
import { parseQualityValues, type QualityValue } from "#http/door/quality-values.ts";

/** The quality that a caller gives a media type, and the place in its Accept header. */
interface Preference {
  readonly quality: number;
  readonly position: number;
}

/**
 * JSON or CSV, as the Accept header asks (RFC 9110, section 12.5.1): the greater quality value wins, of equal ones the range that
 * stands first. JSON is also the answer to a header that accepts neither, or that was not sent.
 */
export function negotiateFormat(headers: Headers): ReportFormat {
  const ranges = parseQualityValues(headers.get("accept") ?? "");
  const json = findPreference(ranges, ["application/json", "application/*", "*/*"]);
  const csv = findPreference(ranges, ["text/csv", "text/*", "*/*"]);
  if (csv.quality !== json.quality) return csv.quality > json.quality ? "csv" : "json";
  return csv.quality > 0 && csv.position < json.position ? "csv" : "json";
}

/** The most specific of the ranges decides, wherever it stands. `candidates` begin with the most specific one. */
function findPreference(ranges: readonly QualityValue[], candidates: readonly string[]): Preference {
  for (const candidate of candidates) {
    const position = ranges.findIndex(({ name }) => name === candidate);
    const range = ranges[position];
    if (range !== undefined) return { quality: range.quality, position };
  }
  return { quality: 0, position: ranges.length };
}
