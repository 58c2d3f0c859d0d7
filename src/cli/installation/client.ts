import { treaty } from "@elysiajs/eden/treaty2";
import { LOCAL_PRINCIPAL } from "#identity/principal.ts";
import type { Api } from "#http/controllers.ts";
import { CommandError, describeRefusal } from "#cli/screen/failure.ts";
import { toPrintable } from "#kernel/printable.ts";
import type { Local } from "#boot/local.ts";

/** The interface with the types of the server's own routes; an answer goes through `ask`. */
export type Client = ReturnType<typeof treaty<Api>>;

/** One exchange. Its response is a success and holds JSON; whatever else happens is thrown. */
export type Send = (request: Request) => Promise<Response>;

export function createClient(origin: string, send: Send): Client {
  const fetcher = (input: string | URL | Request, init?: RequestInit) =>
    send(input instanceof Request ? input : new Request(String(input), init));
  return treaty<Api>(origin, {
    keepDomain: true,
    // With parsing, every instant becomes a `Date`, which ends at milliseconds.
    parseDate: false,
    fetcher: Object.assign(fetcher, { preconnect: fetch.preconnect }),
  });
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
export function findRefusal(status: number, envelope: unknown): CommandError | null {
  const error = isObject(envelope) ? envelope["error"] : null;
  if (!isObject(error)) return null;
  const { message, code, param } = error;
  if (typeof message !== "string" || typeof code !== "string") return null;
  const refusal = { message, code, param: typeof param === "string" ? param : null };
  return new CommandError(
    status === 401 || status === 403 ? "permission" : "failure",
    toPrintable(describeRefusal(refusal)),
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
}
