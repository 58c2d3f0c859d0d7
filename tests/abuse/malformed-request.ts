/** A request, or what pretends to be one, with another one hidden where a lenient reader would find it. */
export interface Malformed {
  readonly name: string;
  /** Latin-1. */
  readonly bytes: string;
}

/** Stands in the target of each outer request, and of each hidden one. */
export const OUTER = "/outer";
export const HIDDEN = "/metrics?hidden";

export interface Head {
  readonly method?: string;
  readonly target?: string;
  readonly version?: string;
  /** Whole lines. */
  readonly lines?: readonly string[];
  readonly body?: string;
}

export const CRLF = "\r\n";
/** The hidden one. */
export const hidden = `GET ${HIDDEN} HTTP/1.1${CRLF}Host: 127.0.0.1${CRLF}${CRLF}`;

export function toBytes({
  method = "POST",
  target = OUTER,
  version = "HTTP/1.1",
  lines = [],
  body = "",
}: Head): string {
  return [`${method} ${target} ${version}`, "Host: 127.0.0.1", ...lines, "", body].join(CRLF);
}

export const chunked = (body: string, ...lines: readonly string[]): string =>
  toBytes({ lines: ["Transfer-Encoding: chunked", ...lines], body });
export const withEach = <Item>(items: readonly Item[], toCase: (item: Item) => readonly [string, string]) =>
  items.map((item) => {
    const [name, bytes] = toCase(item);
    return { name, bytes };
  });
export const show = (text: string) => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);

export const END = `0${CRLF}${CRLF}`;
