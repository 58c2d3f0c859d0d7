import { isJsonObject } from "#kernel/json.ts";
import type { AnswerOf, CallOf, RouteName } from "#http/client.ts";
import { LOCAL_PRINCIPAL } from "#identity/principal.ts";
import type { Clock } from "#kernel/clock.ts";
import { type RouteInput, toRouteRequest } from "#kernel/route-request.ts";
import { describeRefusal, Refusal } from "#cli/screen/failure.ts";
import { toPrintable } from "#kernel/printable.ts";
import type { Local } from "#boot/local.ts";

/** The interface with the types of the server's own routes: `call("DELETE /my/keys/:id", { params: { id } })`. */
export interface Client {
  /** The JSON of the answer. Throws what `Send` throws. */
  call<const Name extends RouteName>(...args: CallOf<Name>): Promise<AnswerOf<Name>>;
  /** Throws what `Send` throws. */
  callWithHeaders<const Name extends RouteName>(...args: CallOf<Name>): Promise<Answered<AnswerOf<Name>>>;
  /** The CSV of an answer, as it comes. Throws what `Send` throws. */
  readCsv<const Name extends RouteName>(...args: CallOf<Name>): Promise<ReadableStream<Uint8Array>>;
  /** For a command that is made from the table of routes: any of it, by its name. Throws what `Send` throws. */
  ask(route: string, input: RouteInput): Promise<Answered<Json>>;
}

/** An answer whose type its reader does not know. */
export type Json = { readonly [field: string]: unknown };

export interface Answered<Data> {
  readonly data: Data;
  readonly headers: Headers;
}

export const CSV_TYPE = "text/csv";

/** One exchange. Its response is a success and holds JSON, or the CSV that was asked for; whatever else happens is thrown. */
export type Send = (request: Request) => Promise<Response>;

export function createClient(origin: string, send: Send): Client {
  const client = { call, callWithHeaders, readCsv, ask };
  return client;

  function call<const Name extends RouteName>(...args: CallOf<Name>): Promise<AnswerOf<Name>>;
  async function call(route: string, input: RouteInput = {}): Promise<unknown> {
    return (await ask(route, input)).data;
  }

  function callWithHeaders<const Name extends RouteName>(
    ...args: CallOf<Name>
  ): Promise<Answered<AnswerOf<Name>>>;
  async function callWithHeaders(route: string, input: RouteInput = {}): Promise<Answered<unknown>> {
    return await ask(route, input);
  }

  function readCsv<const Name extends RouteName>(...args: CallOf<Name>): Promise<ReadableStream<Uint8Array>>;
  async function readCsv(route: string, input: RouteInput = {}): Promise<ReadableStream<Uint8Array>> {
    const headers = { ...input.headers, accept: CSV_TYPE };
    const { address, init } = toRouteRequest(route, { ...input, headers });
    const { body } = await send(new Request(`${origin}${address}`, init));
    return body ?? new Blob([]).stream();
  }

  async function ask(route: string, input: RouteInput): Promise<Answered<Json>> {
    const { address, init } = toRouteRequest(route, input);
    const url = `${origin}${address}`;
    const response = await send(new Request(url, init));
    const data: unknown = await response.json();
    if (!isJsonObject(data)) throw new TypeError("an answer is no object");
    return { data, headers: response.headers };
  }
}

/** Reads an error envelope (specification, section 2.1); null when it is none. */
export function findRefusal(status: number, envelope: unknown): Refusal | null {
  const error = isJsonObject(envelope) ? envelope["error"] : null;
  if (!isJsonObject(error)) return null;
  const { message, code, param } = error;
  if (typeof message !== "string" || typeof code !== "string") return null;
  const refusal = { message, code, param: typeof param === "string" ? param : null };
  return new Refusal(
    status === 401 || status === 403 ? "permission" : "failure",
    toPrintable(describeRefusal(refusal)),
    code,
  );
}

/** Fields of a body without those that are undefined, which JSON leaves out as well. */
export type Given<Fields> = {
  [Name in keyof Fields as undefined extends Fields[Name] ? never : Name]: Fields[Name];
} & {
  [Name in keyof Fields as undefined extends Fields[Name] ? Name : never]?: Exclude<Fields[Name], undefined>;
};

export function given<Fields extends object>(fields: Fields): Given<Fields>;
export function given(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** Actor in the audit log of a command on this machine that uses a service in place of a route. */
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
