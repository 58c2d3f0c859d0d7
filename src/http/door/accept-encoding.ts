import { parseQualityValues } from "./quality-values.ts";

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
