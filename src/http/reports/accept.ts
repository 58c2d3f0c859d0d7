import type { ReportFormat } from "#stats/store.ts";
import { parseWeighted, type Weighted } from "#http/door/quality-values.ts";

/** How much a caller wants a media type, and where its Accept header says so. */
interface Preference {
  readonly weight: number;
  readonly position: number;
}

/**
 * JSON or CSV, as the Accept header asks (RFC 9110, section 12.5.1): the greater weight wins, of equal ones the range that
 * stands first. JSON is also the answer to a header that accepts neither, or that was not sent.
 */
export function negotiateFormat(headers: Headers): ReportFormat {
  const ranges = parseWeighted(headers.get("accept") ?? "");
  const json = findPreference(ranges, ["application/json", "application/*", "*/*"]);
  const csv = findPreference(ranges, ["text/csv", "text/*", "*/*"]);
  if (csv.weight !== json.weight) return csv.weight > json.weight ? "csv" : "json";
  return csv.weight > 0 && csv.position < json.position ? "csv" : "json";
}

/** The most specific of the ranges decides, wherever it stands. `candidates` begin with the most specific one. */
function findPreference(ranges: readonly Weighted[], candidates: readonly string[]): Preference {
  for (const candidate of candidates) {
    const position = ranges.findIndex(({ name }) => name === candidate);
    const range = ranges[position];
    if (range !== undefined) return { weight: range.weight, position };
  }
  return { weight: 0, position: ranges.length };
}
