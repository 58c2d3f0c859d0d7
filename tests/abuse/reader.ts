/**
 * A strict reader of HTTP/1.1, written apart from all that are tried out: what it calls complete has one meaning only
 * (RFC 9112), and what it does not understand it calls ambiguous.
 */
export interface ReadRequests {
  readonly requests: readonly { readonly method: string; readonly target: string }[];
  /** What stands after the last complete one. */
  readonly rest: "nothing" | "incomplete" | "ambiguous";
  /** How many bytes of it the complete ones are. */
  readonly readBytes: number;
  /** Of the complete ones, and what seems to be that of the rest. */
  readonly methods: readonly string[];
}

/** A DEL is no more than a letter here: it ends nothing. */
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+) ([\u0021-\u00ff]+) HTTP\/1\.[01]$/;
const HEADER_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\u0020-\u00ff]*$/;

/** `bytes` as Latin-1. */
export function readRequests(bytes: string): ReadRequests {
  const requests: { method: string; target: string }[] = [];
  const end = (rest: ReadRequests["rest"], at: number) => {
    const [, method = ""] = /^\s*(\w*)/.exec(bytes.slice(at, at + 100)) ?? [];
    return { requests, rest, readBytes: at, methods: [...requests.map((each) => each.method), method] };
  };
  for (let at = 0; ;) {
    if (at === bytes.length) return end("nothing", at);
    const headEnd = bytes.indexOf("\r\n\r\n", at);
    if (headEnd < 0) return end("incomplete", at);
    const [line = "", ...lines] = bytes.slice(at, headEnd).split("\r\n");
    const [, method = "", target = ""] = REQUEST_LINE.exec(line) ?? [];
    if (method === "" || !lines.every((each) => HEADER_LINE.test(each))) return end("ambiguous", at);
    const bodyEnd = findEnd(bytes, headEnd + 4, lines);
    if (typeof bodyEnd === "string") return end(bodyEnd, at);
    requests.push({ method, target });
    at = bodyEnd;
  }
}

/** Where the body ends. */
function findEnd(bytes: string, from: number, lines: readonly string[]): number | "incomplete" | "ambiguous" {
  const valuesOf = (name: string) =>
    lines
      .filter((line) => line.slice(0, line.indexOf(":")).toLowerCase() === name)
      .map((line) => line.slice(line.indexOf(":") + 1).replace(/^[ \t]+|[ \t]+$/g, ""));
  const codings = valuesOf("transfer-encoding");
  const lengths = valuesOf("content-length");
  if (codings.length > 0) {
    // Empty elements of a list count for nothing (RFC 9110, section 5.6.1).
    const names = codings.flatMap((value) => value.split(/[ \t]*,[ \t]*/)).filter((name) => name !== "");
    const isClear = names.length === 1 && names[0]?.toLowerCase() === "chunked" && lengths.length === 0;
    return isClear ? findLastChunk(bytes, from) : "ambiguous";
  }
  if (lengths.length === 0) return from;
  const [length = ""] = lengths;
  // The same one twice is one (RFC 9112, section 6.3).
  if (!/^\d+$/.test(length) || lengths.some((other) => other !== length)) return "ambiguous";
  const end = from + Number(length);
  return end > bytes.length ? "incomplete" : end;
}

function findLastChunk(bytes: string, from: number): number | "incomplete" | "ambiguous" {
  for (let at = from; ;) {
    const lineEnd = bytes.indexOf("\r\n", at);
    if (lineEnd < 0) return "incomplete";
    // An extension means nothing to a reader that does not know it (RFC 9112, section 7.1.1).
    const [, size = ""] = /^([0-9a-fA-F]{1,8})(?:;[\t\u0020-\u00ff]*)?$/.exec(bytes.slice(at, lineEnd)) ?? [];
    if (size === "") return "ambiguous";
    if (/^0+$/.test(size)) return findEndOfTrailers(bytes, lineEnd);
    const end = lineEnd + 2 + Number.parseInt(size, 16);
    if (end + 2 > bytes.length) return "incomplete";
    if (bytes.slice(end, end + 2) !== "\r\n") return "ambiguous";
    at = end + 2;
  }
}

function findEndOfTrailers(bytes: string, from: number): number | "incomplete" | "ambiguous" {
  const end = bytes.indexOf("\r\n\r\n", from);
  if (end < 0) return "incomplete";
  const lines = bytes.slice(from, end).split("\r\n").slice(1);
  return lines.every((line) => HEADER_LINE.test(line)) ? end + 4 : "ambiguous";
}

export interface ReadResponse {
  readonly status: number;
  /** With its status line. */
  readonly head: string;
  readonly body: string;
}

/** The answers in these bytes, of which the first `methods` are known; throws where they are no answers. */
export function readResponses(bytes: string, methods: readonly string[] = []): readonly ReadResponse[] {
  const responses: ReadResponse[] = [];
  for (let at = 0; at < bytes.length;) {
    const headEnd = bytes.indexOf("\r\n\r\n", at);
    if (headEnd < 0) throw new Error(`a head without an end: ${JSON.stringify(bytes.slice(at, at + 200))}`);
    const head = bytes.slice(at, headEnd);
    const [, code = ""] = /^HTTP\/1\.1 (\d{3}) [^\r\n]*/.exec(head) ?? [];
    if (code === "") throw new Error(`no status line: ${JSON.stringify(head.slice(0, 200))}`);
    const status = Number(code);
    at = headEnd + 4;
    if (status < 200) continue;
    const isBodiless = status === 204 || status === 304 || methods[responses.length] === "HEAD";
    const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? [];
    let body = "";
    if (!isBodiless && /\r\ntransfer-encoding: chunked/i.test(head)) {
      const end = findLastChunk(bytes, at);
      body = bytes.slice(at, typeof end === "number" ? end : bytes.length);
    } else if (!isBodiless && length !== undefined) {
      body = bytes.slice(at, at + Number(length));
    }
    at += body.length;
    responses.push({ status, head, body });
  }
  return responses;
}
