import type { ReportFormat } from "#stats/store.ts";

/** Content codings that answers may have, the smallest first. */
export const CODINGS = ["br", "zstd", "gzip", "identity"] as const;
export type Coding = (typeof CODINGS)[number];

/** Less than any quality value that can be written: `identity` is acceptable without being named, and wanted least. */
const UNNAMED_IDENTITY_QUALITY = 0.0001;

/**
 * The coding that an Accept-Encoding header asks for (RFC 9110, section 12.5.3), out of those that there are: the greatest
 * quality value wins, of equal ones the first of `offered`. `identity` when no header was sent, and when none is
 * acceptable: section 12.5 lets a server disregard such a header, and a refusal would not help.
 */
export function negotiateCoding(headers: Headers, offered: readonly Coding[]): Coding {
  const header = headers.get("accept-encoding");
  if (header === null) return "identity";
  const preferences = parseQualityValues(header);
  const qualityOf = (coding: Coding): number => {
    const named = preferences.find(({ name }) => toCoding(name) === coding) ?? preferences.find(isAny);
    return named?.quality ?? (coding === "identity" ? UNNAMED_IDENTITY_QUALITY : 0);
  };
  let best: Coding = "identity";
  let bestQuality = 0;
  for (const coding of offered) {
    const quality = qualityOf(coding);
    if (quality > bestQuality) [best, bestQuality] = [coding, quality];
  }
  return best;
}

/** RFC 9110, section 8.4.1.3: the old name of gzip is to be taken for it. */
function toCoding(name: string): string {
  return name === "x-gzip" ? "gzip" : name;
}

function isAny({ name }: { readonly name: string }): boolean {
  return name === "*";
}

/** One element of a header by which a client says what it prefers, a media range or a content coding, with its quality. */
interface QualityValue {
  /** Lower case, without parameters. */
  readonly name: string;
  /** 0 to 1; 0 is "not acceptable". */
  readonly quality: number;
}

/** RFC 9110, section 12.4.2: at most three decimals. */
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** The elements of an Accept or Accept-Encoding header, in its order. What is not well-formed asks for nothing. */
function parseQualityValues(header: string): readonly QualityValue[] {
  return header.split(",").flatMap((text) => {
    const [name = "", ...params] = text.split(";").map((part) => part.trim().toLowerCase());
    if (name === "") return [];
    // Parameters other than `q` tell nothing apart here.
    const quality = params.find((param) => param.startsWith("q="))?.slice(2) ?? "1";
    return QUALITY.test(quality) ? [{ name, quality: Number(quality) }] : [];
  });
}

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

/** A browser that opens an address wants a page; a client of the API never lists HTML. */
export function isNavigation(headers: Headers): boolean {
  return /(?:^|[\s,])text\/html(?:[\s;,]|$)/i.test(headers.get("accept") ?? "");
}
