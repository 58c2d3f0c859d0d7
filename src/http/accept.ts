import type { ReportFormat } from "#stats/store.ts";

interface MediaRange {
  readonly type: string;
  /** 0 to 1; 0 is "not acceptable". */
  readonly weight: number;
}

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
  const ranges = (headers.get("accept") ?? "").split(",").flatMap((text) => parseRange(text) ?? []);
  const json = findPreference(ranges, ["application/json", "application/*", "*/*"]);
  const csv = findPreference(ranges, ["text/csv", "text/*", "*/*"]);
  if (csv.weight !== json.weight) return csv.weight > json.weight ? "csv" : "json";
  return csv.weight > 0 && csv.position < json.position ? "csv" : "json";
}

/** The most specific of the ranges decides, wherever it stands. `candidates` begin with the most specific one. */
function findPreference(ranges: readonly MediaRange[], candidates: readonly string[]): Preference {
  for (const candidate of candidates) {
    const position = ranges.findIndex(({ type }) => type === candidate);
    const range = ranges[position];
    if (range !== undefined) return { weight: range.weight, position };
  }
  return { weight: 0, position: ranges.length };
}

/** RFC 9110, section 12.4.2: at most three decimals. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** Null for what is no range: it asks for nothing. Parameters other than the weight tell nothing apart here. */
function parseRange(text: string): MediaRange | null {
  const [type = "", ...params] = text.split(";").map((part) => part.trim().toLowerCase());
  if (type === "") return null;
  const weight = params.find((param) => param.startsWith("q="))?.slice(2) ?? "1";
  return WEIGHT.test(weight) ? { type, weight: Number(weight) } : null;
}
