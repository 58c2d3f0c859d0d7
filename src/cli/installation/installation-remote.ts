import type { Clock } from "#kernel/clock.ts";
import { systemCode } from "#kernel/system-code.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { collectText } from "#cli/screen/terminal.ts";
import { createClient, findRefusal, isObject, type Installation } from "#cli/installation/client.ts";
import type { Route } from "#http/door/route.ts";

/** For an answer to its last byte; discovery alone waits for a provider, which takes at most 30 s. */
const ANSWER_MS_MAX = 60_000;
/** Some three times the largest report. */
const ANSWER_BYTES_MAX = 64_000_000;
/** RFC 9110, section 5.5, without blanks: what a header's value may hold and `fetch` takes. */
const HEADER_TOKEN = /^[\u0021-\u007e]+$/;
/** What else may be wrong than that no server runs there. */
const ADVICE: readonly (readonly [codes: RegExp, advice: string])[] = [
  [/^EPROTO$/, "does it speak http:// there, and not https://?"],
  [
    /CERT|SIGNATURE/,
    "this machine does not trust its certificate, or it is another name's. For an authority of your own, name its PEM file in NODE_EXTRA_CA_CERTS.",
  ],
];

export interface Remote {
  /** Without a slash at the end. */
  readonly origin: string;
  readonly apiKey: string;
  readonly clock: Clock;
  /** Ends what is under way. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * A server, spoken to over HTTP with an API key, under whose owner changes are audited. What is thrown is a `CommandError`:
 * `unreachable` when there is no answer or it is not Lockport's, `permission` for its 401 and 403, `failure` with the server's
 * sentence and code for every other refusal. Throws one at once for a key that no header can hold.
 */
export function createRemoteInstallation({ origin, apiKey, clock, signal }: Remote): Installation {
  if (!HEADER_TOKEN.test(apiKey)) {
    throw new CommandError(
      "permission",
      "LOCKPORT_API_KEY is not an API key: it has blanks, line breaks or other characters that no key has. Copy it again.",
    );
  }
  const send = async (request: Request): Promise<Response> => {
    const limit = AbortSignal.timeout(ANSWER_MS_MAX);
    const exchange = async () => {
      request.headers.set("authorization", `Bearer ${apiKey}`);
      request.headers.set("accept", "application/json");
      const response = await fetch(request, {
        // The key goes to the address that was named and to no other.
        redirect: "manual",
        signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
      });
      const name = `The answer of ${origin}`;
      const text =
        response.body === null ? "" : await collectText(response.body, { name, bytesMax: ANSWER_BYTES_MAX });
      return { response, text };
    };
    const { response, text } = await exchange().catch((cause: unknown) => {
      if (signal?.aborted === true) throw cause;
      if (cause instanceof CommandError) throw new CommandError("unreachable", cause.message);
      // The code alone: the runtime's messages may hold secrets.
      const code = limit.aborted ? "timeout" : (systemCode(cause) ?? "no answer");
      const [, advice] = ADVICE.find(([codes]) => codes.test(code)) ?? [null, "is the server running there?"];
      throw new CommandError("unreachable", `${origin} cannot be reached (${code}): ${advice}`);
    });
    const answer = parse(text);
    const { status, headers } = response;
    if (!response.ok) {
      // Without our header another program refuses, and its sentence is not repeated.
      const refusal = headers.get("x-proxy-error-source") === "proxy" ? findRefusal(status, answer) : null;
      throw refusal ?? notLockport(origin, ` (status ${status})`);
    }
    if (!isObject(answer)) throw notLockport(origin);
    // Loaded here and not above: a command on this machine has no use for it.
    const { listRoutes } = await import("#http/local.ts");
    const { pathname } = new URL(request.url);
    if (!isDeclared(answer, { method: request.method, pathname }, listRoutes()))
      throw notLockport(origin, ", or one of another version");
    headers.set("content-type", "application/json");
    return new Response(text, { status, headers });
  };
  return { api: createClient(origin, send), local: null, origin, clock };
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

function notLockport(origin: string, more = ""): CommandError {
  return new CommandError(
    "unreachable",
    `What answers at ${origin} is not a Lockport${more}: give the address of the server itself with --url.`,
  );
}

/**
 * Holds a successful answer to what its route declares: every field that is promised is there and has its type. Further
 * fields, other words and other ranges pass: the server may be of another version.
 */
function isDeclared(
  answer: unknown,
  { method, pathname }: { readonly method: string; readonly pathname: string },
  routes: readonly Route[],
): boolean {
  const route = routes.find((each) => each.method === method && isOn(each.path, pathname));
  const [content] = route?.answer.contents ?? [];
  return content !== undefined && fits(answer, content.schema);
}

function isOn(path: string, pathname: string): boolean {
  const parts = pathname.split("/");
  const expected = path.split("/");
  return (
    expected.length === parts.length &&
    expected.every((part, index) => part.startsWith(":") || part === parts[index])
  );
}

type Schema = { readonly [keyword: string]: unknown };

function fits(value: unknown, { anyOf, type, properties, required, items }: Schema): boolean {
  if (Array.isArray(anyOf)) return anyOf.some((each) => isObject(each) && fits(value, each));
  switch (type) {
    case "object":
      if (!isObject(value)) return false;
      if (Array.isArray(required) && required.some((name) => typeof name !== "string" || !(name in value)))
        return false;
      return Object.entries(isObject(properties) ? properties : {}).every(
        ([name, each]) => value[name] === undefined || (isObject(each) && fits(value[name], each)),
      );
    case "array":
      return Array.isArray(value) && (!isObject(items) || value.every((each) => fits(each, items)));
    case "null":
      return value === null;
    case "integer":
      return Number.isInteger(value);
    case "string":
    case "number":
    case "boolean":
      return typeof value === type;
    default:
      return true;
  }
}
