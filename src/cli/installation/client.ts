import { treaty } from "@elysiajs/eden/treaty2";
import type { Clock } from "#kernel/clock.ts";
import { LOCAL_PRINCIPAL } from "#identity/principal.ts";
import type { Api } from "#http/controllers.ts";
import { describeRefusal, Refusal, type CommandError } from "#cli/screen/failure.ts";
import { toPrintable } from "#kernel/printable.ts";
import type { Local } from "#boot/local.ts";

/** The interface with the types of the server's own routes; an answer goes through `ask`. */
export type Client = ReturnType<typeof treaty<Api>>;

/** One exchange. Its response is a success and holds JSON; whatever else happens is thrown. */
export type Send = (request: Request) => Promise<Response>;

/** What was asked, as far as it names something. */
export interface Question {
  readonly url: string;
  /** JSON; null for none. */
  readonly body: string | null;
}

/** What is thrown in place of a refusal: the same with more to say. */
export type Explain = (client: Client, refusal: Refusal, question: Question) => Promise<CommandError>;

export function createClient(origin: string, send: Send, explain: Explain): Client {
  const fetcher = async (input: string | URL | Request, init?: RequestInit) => {
    const request = input instanceof Request ? input : new Request(String(input), init);
    try {
      return await send(request);
    } catch (cause) {
      if (!(cause instanceof Refusal)) throw cause;
      const body = typeof init?.body === "string" ? init.body : null;
      throw await explain(client, cause, { url: request.url, body });
    }
  };
  const client = treaty<Api>(origin, {
    keepDomain: true,
    // With parsing, every instant becomes a `Date`, which ends at milliseconds.
    parseDate: false,
    fetcher: Object.assign(fetcher, { preconnect: fetch.preconnect }),
  });
  return client;
}

/** What the typed client gives for any route. Without a response, the error's value is what `Send` threw. */
export interface Asked<Data> {
  readonly data: Data;
  readonly error: { readonly value: unknown } | null;
  readonly response: Response | undefined;
}

/** The answer. Throws what `Send` throws. */
export async function ask<Data>(asked: Promise<Asked<Data>>): Promise<NonNullable<Data>> {
  return (await askWithHeaders(asked)).data;
}

export async function askWithHeaders<Data>(
  asked: Promise<Asked<Data>>,
): Promise<{ readonly data: NonNullable<Data>; readonly headers: Headers }> {
  const { data, error, response } = await asked;
  if (error !== null) throw error.value;
  if (data === null || data === undefined || response === undefined)
    throw new TypeError("an answer is empty");
  return { data, headers: response.headers };
}

/** A name as one part of a path: the client joins what it gets as it is, and an alias may hold a slash. */
export function toPathPart(name: string): string {
  return encodeURIComponent(name);
}

/** What an error envelope refuses with (specification, section 2.1); null when it is none. */
export function findRefusal(status: number, envelope: unknown): Refusal | null {
  const error = isObject(envelope) ? envelope["error"] : null;
  if (!isObject(error)) return null;
  const { message, code, param } = error;
  if (typeof message !== "string" || typeof code !== "string") return null;
  const refusal = { message, code, param: typeof param === "string" ? param : null };
  return new Refusal(
    status === 401 || status === 403 ? "permission" : "failure",
    toPrintable(describeRefusal(refusal)),
    code,
  );
}

export function isObject(value: unknown): value is { readonly [field: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Fields of a body without those that are undefined, which JSON leaves out as well. */
export type Given<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Mutable<Fields[Name]>;
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Mutable<
    Exclude<Fields[Name], undefined>
  >;
};

type Mutable<Value> = Value extends readonly (infer Element)[] ? Element[] : Value;

export function given<Fields extends object>(fields: Fields): Given<Fields>;
export function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Who a command on this machine is in the audit log, where it uses a service in place of a route. */
export const LOCAL_ACTOR = { principalId: LOCAL_PRINCIPAL.id } as const;

/**
 * A Lockport that commands work on. Both kinds answer by the same routes; on this machine the audit log names no
 * principal (`LOCAL_ACTOR`). What a route refuses is a `CommandError`.
 */
export interface Installation {
  readonly api: Client;
  /** The services of the data folder, for what no route does; null for a server under `--url`. */
  readonly local: Local | null;
  /** The server under `--url` or `LOCKPORT_URL`; null for the data folder of this machine. */
  readonly origin: string | null;
  readonly clock: Clock;
}
