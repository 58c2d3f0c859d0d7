/** One element of a header by which a client says what it prefers: a media range or a content coding. */
export interface Weighted {
  /** In lower case, without parameters. */
  readonly name: string;
  /** 0 to 1; 0 is "not acceptable". */
  readonly weight: number;
}

/** RFC 9110, section 12.4.2: at most three decimals. */
const WEIGHT = /^(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/;

/** The elements of an Accept or Accept-Encoding header, in its order. What is not well-formed asks for nothing. */
export function parseWeighted(header: string): readonly Weighted[] {
  return header.split(",").flatMap((text) => {
    const [name = "", ...params] = text.split(";").map((part) => part.trim().toLowerCase());
    if (name === "") return [];
    // Parameters other than the weight tell nothing apart here.
    const weight = params.find((param) => param.startsWith("q="))?.slice(2) ?? "1";
    return WEIGHT.test(weight) ? [{ name, weight: Number(weight) }] : [];
  });
}
