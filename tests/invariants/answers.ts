import { expect } from "bun:test";

/** An answer that a caller got, as far as the invariants look at it. */
export interface Answer {
  readonly status: number;
  /** Names in lower case; a repeated one holds its last value. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-8000-[0-9a-f]{12}$/;
const PROXY_ERROR = "proxy_error";
/** Patterns of a stack, a page of a framework or a message of the runtime. */
const INSIDES = /<html|<!doctype|\bat \S+ \(|\.tsx?:\d|node_modules|TypeError|SQLITE_|bun:sqlite|\/\$bunfs/i;

export async function readAnswer(response: Response): Promise<Answer> {
  return { status: response.status, headers: new Map(response.headers), body: await response.text() };
}

/** An upstream's words, which pass as they are, whatever their status. */
export const isUpstreams = ({ headers }: Answer) =>
  headers.has("x-proxy-provider") && headers.get("x-proxy-error-source") !== "proxy";

/**
 * Invariant 5: a refusal of ours has all five fields of the envelope and the request's id, nothing else, and tells nothing
 * of our insides. The data plane's message ends with that id, the relay's envelope says in its dialect that it is an error.
 */
export function checkRefusal(answer: Answer): void {
  if (answer.status < 400 || isUpstreams(answer)) return;
  const { status, headers, body } = answer;
  const envelope = toJson(body);
  const seen = { status, source: headers.get("x-proxy-error-source"), envelope };
  expect(seen).toEqual({
    status,
    source: "proxy",
    envelope: {
      ...("type" in Object(envelope) && { type: "error" }),
      error: {
        message: expect.any(String),
        type: PROXY_ERROR,
        code: expect.stringMatching(/^[a-z_]+$/),
        param: toParam(envelope),
      },
      proxy: { source: "proxy", request_id: headers.get("x-proxy-request-id") },
    },
  });
  expect(headers.get("x-proxy-request-id")).toMatch(UUID);
  expect(headers.get("content-type")).toBe("application/json");
  expect(headers.get("x-content-type-options")).toBe("nosniff");
  expect(body).not.toMatch(INSIDES);
}

function toJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body.slice(0, 400);
  }
}

/** Null, or the text that it is. */
function toParam(envelope: unknown): unknown {
  const { param } = Object(Object(envelope).error);
  return typeof param === "string" ? param : null;
}
