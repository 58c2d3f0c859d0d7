/** One element of a header by which a client says what it prefers, a media range or a content coding, with its quality. */
export interface QualityValue {
  /** Lower case, without parameters. */
  readonly name: string;
  /** 0 to 1; 0 is "not acceptable". */
  readonly quality: number;
}

/** RFC 9110, section 12.4.2: at most three decimals. */
const QUALITY = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** The elements of an Accept or Accept-Encoding header, in its order. What is not well-formed asks for nothing. */
export function parseQualityValues(header: string): readonly QualityValue[] {
  return header.split(",").flatMap((text) => {
    const [name = "", ...params] = text.split(";").map((part) => part.trim().toLowerCase());
    if (name === "") return [];
    // Parameters other than `q` tell nothing apart here.
    const quality = params.find((param) => param.startsWith("q="))?.slice(2) ?? "1";
    return QUALITY.test(quality) ? [{ name, quality: Number(quality) }] : [];
  });
}
