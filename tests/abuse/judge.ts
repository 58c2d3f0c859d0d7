import { checkRefusal, type Answer } from "../invariants/answers.ts";
import { readRequests, readResponses, type ReadResponse } from "./reader.ts";

/** Stands in an answer to the hidden request and in no other. */
const OF_HIDDEN = "proxy_requests_total";
/** What of it chance has left, too. */
const OF_METRICS = /\/metrics($|\?|#)/;

export function toAnswer({ status, head, body }: ReadResponse): Answer {
  const lines = head.split("\r\n").slice(1);
  const headers = lines.map(
    (line) =>
      [line.slice(0, line.indexOf(":")).toLowerCase(), line.slice(line.indexOf(":") + 1).trim()] as const,
  );
  return { status, headers: new Map(headers), body };
}

/** The runtime's own: it has no body, and says that the connection ends with it. */
const isOfRuntime = ({ head, status }: ReadResponse) =>
  status >= 400 && /^HTTP\/1\.1 [^\r]+\r\nConnection: close$/.test(head);

/** Without the refusal that ends a connection: what it refuses may have had its answer before, or be none. */
export function withoutEnd(responses: readonly ReadResponse[]): readonly ReadResponse[] {
  const last = responses.at(-1);
  return last !== undefined && isOfRuntime(last) ? responses.slice(0, -1) : responses;
}

/** The mistake of the answer to these bytes; null: none. */
export function judge(bytes: string, received: string): string | null {
  const { requests, rest, methods } = readRequests(bytes);
  try {
    const responses = readResponses(received, methods);
    const ours = withoutEnd(responses);
    if (ours.length > requests.length + (rest === "nothing" ? 0 : 1)) return `${ours.length} answers`;
    for (const [index, response] of ours.entries()) {
      if (methods[index] !== "HEAD") checkRefusal(toAnswer(response));
      if (response.status >= 500) return `a ${response.status}`;
    }
    const hidden = responses.filter(({ body }) => body.includes(OF_HIDDEN)).length;
    const asked = requests.filter(({ target }) => OF_METRICS.test(target)).length;
    return hidden > asked ? "the hidden request was answered" : null;
  } catch (error) {
    return String(error);
  }
}
