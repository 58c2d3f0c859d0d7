import { type QueryClient, queryOptions, type QueryKey } from "@tanstack/react-query";
import type { AnswerOf, BodyOf, RouteName } from "#http/client.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import type { QueryParams } from "#kernel/route-request.ts";
import { isJsonObject, type JsonObject } from "#kernel/json.ts";
import { type StoredKind, toEntityTag } from "#views/entity-tag.ts";
import { type Change, changing } from "./changing.ts";
import { ask } from "./client.ts";
import { KEYS, makeStale } from "./keys.ts";

/** Lists of admins are shown as a whole up to here; the longest that a server is made for have 10,000 rows. */
export const ROWS_MAX = 20 * PAGE_LIMIT_MAX;

/** A resource of the interface: one list, and the changes of its rows. */
export interface ResourceOptions<Path extends string, Rows extends string> {
  /** The path of its list; a row stands below it under its id. */
  readonly path: Path;
  /** The field of the list's answer that has the rows. */
  readonly rows: Rows;
  /** The field of a row that is its id, by which the path of a row names it too. */
  readonly id: "id" | "name" | "alias";
  readonly key: QueryKey;
  /** The kind by which a change is refused where its row was changed since; without one it writes over whatever is there. */
  readonly stored?: StoredKind;
  /** Everything that a change of a row can show in. */
  readonly stale: readonly QueryKey[];
  /** How often a list that is in sight is asked for again. */
  readonly refetchMs?: number;
}

/** A list with as many of its rows as one view shows. */
export interface WholeList<Row> {
  readonly rows: readonly Row[];
  /** How many there are on the server; more than `rows` has when `ROWS_MAX` cut them. */
  readonly total: number;
}

/** The row that a change is of. */
interface Target {
  readonly id: string;
  /** The view that the change was made from. */
  readonly from?: object | undefined;
}

interface Update<Patch> extends Target {
  readonly patch: Patch;
}

/** What would go with a removal, as the server finds it (`dry_run`). */
export type Removal = Extract<AnswerOf<"DELETE /my/keys/:id">, { sentence: string }>;
export type RemovalQuery = ReturnType<typeof removalQuery>;

type Route<Method extends string, Path extends string> = Extract<RouteName, `${Method} ${Path}`>;
type RowOf<Path extends string, Rows extends string> =
  AnswerOf<Route<"GET", Path>> extends { readonly [rows in Rows]: readonly (infer Row)[] } ? Row : never;

interface Resource<Path extends string, Rows extends string> {
  /** One page, past the cache. */
  readonly page: (query: QueryParams, signal?: AbortSignal) => Promise<WholeList<RowOf<Path, Rows>>>;
  /** How many rows there are, under the key of the list. */
  readonly count: () => ReturnType<typeof countQuery>;
  /** The whole list, or what a filter leaves of it; up to `ROWS_MAX`. */
  readonly list: (filter?: QueryParams) => ReturnType<typeof listQuery<RowOf<Path, Rows>>>;
  readonly create: Change<BodyOf<Route<"POST", Path>>, AnswerOf<Route<"POST", Path>>>;
  readonly update: Change<
    Update<BodyOf<Route<"PATCH", `${Path}/:${string}`>>>,
    AnswerOf<Route<"PATCH", `${Path}/:${string}`>>
  >;
  readonly remove: Change<Target, { readonly deleted: string }>;
  /** Asks what would go with the removal of a row. */
  readonly removal: (id: string) => RemovalQuery;
}

/**
 * The questions and changes of one resource, with the types of its routes. Every list is read in one way and every change is
 * made in one way; all of them throw as `call` does.
 */
export function resource<const Path extends string, const Rows extends string>(
  options: ResourceOptions<Path, Rows>,
): Resource<Path, Rows>;
export function resource(options: ResourceOptions<string, string>): object {
  const { path, rows: field, id: idField, key, stored, stale, refetchMs } = options;
  const row = `${path}/:${idField}`;
  const page: FetchPage<unknown> = async (query, signal) => {
    const { [field]: found, total } = toObject(await send(`GET ${path}`, { query, signal }));
    const rows = Array.isArray(found) ? found : [];
    // A list that is not cut into pages tells no total.
    return { rows, total: typeof total === "number" ? total : rows.length };
  };
  const toId = (listed: unknown) => String(toObject(listed)[idField]);
  const refresh = toRefresh(stale);
  const toTarget = ({ id, from }: Target) => ({
    params: { [idField]: id },
    ...(stored !== undefined && from !== undefined && { headers: { "if-match": toEntityTag(stored, from) } }),
  });
  return {
    page,
    count: () => countQuery(key, page),
    list: (filter: QueryParams = {}) => listQuery({ key, page, toId, refetchMs }, filter),
    create: changing((body: unknown) => send(`POST ${path}`, { body }), refresh),
    update: changing(
      ({ patch, ...target }: Update<unknown>) => send(`PATCH ${row}`, { body: patch, ...toTarget(target) }),
      refresh,
    ),
    remove: changing((target: Target) => send(`DELETE ${row}`, toTarget(target)), refresh),
    removal: (id: string) => removalQuery(row, { [idField]: id }),
  };
}

/** What a change refreshes. */
export function toRefresh(stale: readonly QueryKey[]): (client: QueryClient) => Promise<void> {
  return (client) => makeStale(client, stale);
}

async function send(...asked: Parameters<typeof ask>): Promise<unknown> {
  return (await ask(...asked)).data;
}

function toObject(answer: unknown): JsonObject {
  return isJsonObject(answer) ? answer : {};
}

type FetchPage<Row> = (query: QueryParams, signal?: AbortSignal) => Promise<WholeList<Row>>;

interface Listed<Row> {
  readonly key: QueryKey;
  readonly page: FetchPage<Row>;
  readonly toId: (row: Row) => string;
  readonly refetchMs: number | undefined;
}

function listQuery<Row>({ key, page, toId, refetchMs = 0 }: Listed<Row>, filter: QueryParams) {
  return queryOptions({
    queryKey: [...key, filter],
    queryFn: ({ signal }) => fetchWholeList((part) => page({ ...filter, ...part }, signal), toId),
    refetchInterval: refetchMs === 0 ? false : refetchMs,
  });
}

/** Page after page up to `ROWS_MAX` rows. A row that moved between two pages is there once; throws as a page does. */
export async function fetchWholeList<Row>(
  fetchPage: (part: { readonly limit: number; readonly offset: number }) => Promise<WholeList<Row>>,
  toId: (row: Row) => string,
): Promise<WholeList<Row>> {
  const found = new Map<string, Row>();
  for (let offset = 0; ; offset += PAGE_LIMIT_MAX) {
    const { rows, total } = await fetchPage({ limit: PAGE_LIMIT_MAX, offset });
    for (const row of rows) found.set(toId(row), row);
    const next = offset + PAGE_LIMIT_MAX;
    if (rows.length === 0 || next >= total || next >= ROWS_MAX) return { rows: [...found.values()], total };
  }
}

function countQuery(key: QueryKey, page: FetchPage<unknown>) {
  return queryOptions({
    queryKey: [...key, "count"],
    queryFn: async ({ signal }) => (await page({ limit: 1 }, signal)).total,
  });
}

/** Asked anew each time: what it says is only true now. Null: the server deletes without telling. */
function removalQuery(row: string, params: { readonly [name: string]: string }) {
  return queryOptions({
    queryKey: [...KEYS.removals, row, params],
    queryFn: ({ signal }) => fetchRemoval(`DELETE ${row}`, { params, query: { dry_run: "1" }, signal }),
    staleTime: 0,
    gcTime: 0,
    retry: false,
  });
}

async function fetchRemoval(...asked: Parameters<typeof ask>): Promise<Removal | null>;
async function fetchRemoval(...asked: Parameters<typeof ask>): Promise<unknown> {
  const answer = await send(...asked);
  return "sentence" in toObject(answer) ? answer : null;
}
