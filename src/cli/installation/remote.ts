import { systemCode } from "#kernel/system-code.ts";
import { CommandError, describeRefusal } from "#cli/screen/failure.ts";
import { toPrintable } from "#cli/screen/printable.ts";
import { collectText } from "#cli/screen/text-limit.ts";
import { findText, isWireObject, type WireObject } from "./wire.ts";

/** For an answer to its last byte; discovery alone waits for a provider, which takes at most 30 s. */
const ANSWER_MS_MAX = 60_000;
/** Some three times the largest report. */
const ANSWER_BYTES_MAX = 64_000_000;
/** RFC 9110, section 5.5, without blanks: what a header's value may hold and `fetch` takes. */
const HEADER_TOKEN = /^[\u0021-\u007e]+$/;
/** What else may be the matter than that no server runs there. */
const ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [/^EPROTO$/, "does it speak http:// there, and not https://?"],
  [
    /CERT|SIGNATURE/,
    "this machine does not trust its certificate, or it is another name's. For an authority of your own, name its PEM file in NODE_EXTRA_CA_CERTS.",
  ],
];

export interface RemoteOptions {
  /** Without a slash at the end. */
  readonly origin: string;
  readonly apiKey: string;
  /** Ends what is under way. */
  readonly signal?: AbortSignal | undefined;
}

export interface RemoteCall {
  readonly query?: URLSearchParams | undefined;
  readonly body?: WireObject;
  /** A field that every such answer has: one without it is not Lockport's. */
  readonly field: string;
}

export interface Answer {
  readonly body: WireObject;
  readonly headers: Headers;
}

/** A server, spoken to over HTTP with an API key. */
export interface Remote {
  /**
   * The answer, when it is a success. Throws a `CommandError`: `unreachable` when there is none or it is not Lockport's,
   * `permission` for its 401 and 403, `failure` with the server's sentence and code for every other refusal.
   */
  send(method: string, path: string, call: RemoteCall): Promise<Answer>;
  /** The same, without its headers. */
  sendForObject(method: string, path: string, call: RemoteCall): Promise<WireObject>;
}

/** Throws a `CommandError` when the key could not be one: it would not even be sent. */
export function createRemote({ origin, apiKey, signal }: RemoteOptions): Remote {
  if (!HEADER_TOKEN.test(apiKey)) {
    throw new CommandError(
      "permission",
      "PROXY_API_KEY is not an API key: it has blanks, line breaks or other characters that no key has. Copy it again.",
    );
  }
  const send = async (method: string, path: string, { query, body, field }: RemoteCall): Promise<Answer> => {
    const search = query === undefined || query.size === 0 ? "" : `?${query.toString()}`;
    const limit = AbortSignal.timeout(ANSWER_MS_MAX);
    const exchange = async () => {
      const response = await fetch(`${origin}${path}${search}`, {
        method,
        headers: {
          authorization: `Bearer ${apiKey}`,
          accept: "application/json",
          ...(body !== undefined && { "content-type": "application/json" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // The key goes to the address that was named and to no other.
        redirect: "manual",
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      });
      const name = `The answer of ${origin}`;
      const text =
        response.body === null ? "" : await collectText(response.body, { name, bytesMax: ANSWER_BYTES_MAX });
      return { response, answer: parse(text) };
    };
    const { response, answer } = await exchange().catch((cause: unknown) => {
      if (signal?.aborted === true) throw cause;
      if (cause instanceof CommandError) throw new CommandError("unreachable", cause.message);
      // The code alone: the runtime's messages may hold more than one wants to see.
      const code = limit.aborted ? "timeout" : (systemCode(cause) ?? "no answer");
      const [, advice] = ADVICE.find(([codes]) => codes.test(code)) ?? [null, "is the server running there?"];
      throw new CommandError("unreachable", `${origin} cannot be reached (${code}): ${advice}`);
    });
    if (!response.ok) throw toRefusal(response, answer, origin);
    if (isWireObject(answer) && answer[field] !== undefined)
      return { body: answer, headers: response.headers };
    throw notLockport(origin);
  };
  return {
    send,
    sendForObject: async (method, path, call) => (await send(method, path, call)).body,
  };
}

function toRefusal({ status, headers }: Response, envelope: unknown, origin: string): CommandError {
  const isOwn = headers.get("x-proxy-error-source") === "proxy";
  const error = isOwn && isWireObject(envelope) ? envelope["error"] : undefined;
  const message = isWireObject(error) ? findText(error, "message") : null;
  const code = isWireObject(error) ? findText(error, "code") : null;
  if (!isWireObject(error) || message === null || code === null) return notLockport(origin, status);
  const param = findText(error, "param");
  const sentence = toPrintable(describeRefusal({ message, code, param }));
  return new CommandError(status === 401 || status === 403 ? "permission" : "failure", sentence);
}

/** Null for what is no JSON. */
function parse(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return null;
  }
}

function notLockport(origin: string, status?: number): CommandError {
  const what = status === undefined ? "" : ` (status ${status})`;
  return new CommandError(
    "unreachable",
    `What answers at ${origin} is not a Lockport${what}: give the address of the server itself with --url.`,
  );
}
