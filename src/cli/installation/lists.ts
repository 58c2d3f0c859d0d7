import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { toQuoted } from "#kernel/printable.ts";
import { ALIAS_LENGTH_MAX } from "#kernel/text.ts";
import { suggest, CommandError } from "#cli/screen/failure.ts";
import type { Client } from "#cli/installation/client.ts";

/** Rows of one list over all its pages: far more than an installation has. */
const ROWS_MAX = 1_000_000;

export async function listProviders(api: Client) {
  return listAll("providers", async (query) => {
    const { providers: rows, total } = await api.call("GET /admin/v1/providers", { query: { ...query } });
    return { rows, total };
  });
}

export async function listModels(api: Client, { provider }: { readonly provider?: string | undefined } = {}) {
  return listAll("models", async (page) => {
    const { models: rows, total } = await api.call("GET /admin/v1/models", { query: { provider, ...page } });
    return { rows, total };
  });
}

/** Throws a `CommandError` when no model has the alias. */
export async function getModel(api: Client, alias: string) {
  const models = await listModels(api);
  const found = models.find((model) => model.alias === alias);
  if (found !== undefined) return found;
  const nearest = suggest(
    alias,
    models.map((model) => model.alias),
  );
  throw new CommandError(
    "failure",
    `There is no model ${toQuoted(alias, ALIAS_LENGTH_MAX)}. (model_not_found, model)${nearest}`,
  );
}

export async function listPrincipals(api: Client) {
  return listAll("principals", async (query) => {
    const { principals: rows, total } = await api.call("GET /admin/v1/principals", { query: { ...query } });
    return { rows, total };
  });
}

/** Throws a `CommandError` when no principal has the name. */
export async function getPrincipal(api: Client, name: string) {
  return requireNamed(await listPrincipals(api), name, "No such principal. (principal_not_found, principal)");
}

export interface OwnerFilter {
  /** A name; undefined is every owner. */
  readonly principal: string | undefined;
}

export async function listKeys(api: Client, owner: OwnerFilter) {
  const keys = await listAll("keys", async (page) => {
    const { keys: rows, total } = await api.call("GET /admin/v1/keys", { query: { ...owner, ...page } });
    return { rows, total };
  });
  return requireOwner(api, owner, keys);
}

/** A key is called by its id. */
export function toNamedKey(view: {
  readonly id: string;
  readonly label: string;
  readonly key_suffix: string;
}) {
  return { name: view.id, also: [view.label, view.key_suffix] };
}

/** Whose limits: a field of a limit's `subject` and its value. */
export type LimitSubjectPair = readonly [kind: string, value: string];

/** `of`: limits of this subject alone; undefined is all. */
export async function listLimits(api: Client, { of }: { readonly of?: LimitSubjectPair | undefined } = {}) {
  const subject = of?.join(":");
  return listAll("limits", async (page) => {
    const { limits: rows, total } = await api.call("GET /admin/v1/limits", { query: { subject, ...page } });
    return { rows, total };
  });
}

/** The interface has an empty list for an owner who does not exist; on a command line that is a typo. */
async function requireOwner<Row>(api: Client, { principal }: OwnerFilter, rows: readonly Row[]) {
  if (rows.length === 0 && principal !== undefined) await getPrincipal(api, principal);
  return rows;
}

interface PageQuery {
  readonly limit: number;
  readonly offset: number;
}

interface Page<Row> {
  readonly rows: readonly Row[];
  readonly total: number;
}

/** Every row of a list that comes in pages. */
export async function listAll<Row>(
  name: string,
  readPage: (query: PageQuery) => Promise<Page<Row>>,
): Promise<readonly Row[]> {
  const all: Row[] = [];
  for (;;) {
    const { rows, total } = await readPage({ limit: PAGE_LIMIT_MAX, offset: all.length });
    all.push(...rows);
    if (all.length > ROWS_MAX) {
      throw new CommandError(
        "unreachable",
        `The list of ${name} has more than ${ROWS_MAX} rows: what answers is not a Lockport.`,
      );
    }
    if (rows.length === 0 || all.length >= total) return all;
  }
}

/** A thing that commands call by a name. */
export interface Named {
  readonly name: string;
  /** Other names: a key, whose name is its id, is also called by its label or its last characters. */
  readonly also?: readonly string[];
}

/** Rows that have what was typed as another name; more are as good as none. */
const CALLED_MAX = 3;

/** The one of this name. Throws a `CommandError` with the name that was probably meant. */
export function requireNamed<Row extends Named>(rows: readonly Row[], name: string, refusal: string): Row {
  const found = rows.find((row) => row.name === name);
  if (found !== undefined) return found;
  throw new CommandError("failure", `${refusal}${suggestNamed(name, rows)}`);
}

/** Names the row that was probably meant, in a line to add to a refusal; empty where none is near. */
export function suggestNamed(typed: string, rows: readonly Named[]): string {
  const called = rows.filter(({ also = [] }) => also.includes(typed)).map(({ name }) => name);
  if (called.length > CALLED_MAX) return "";
  if (called.length > 0) return `\n(Did you mean ${called.join(" or ")}?)`;
  return suggest(
    typed,
    rows.map(({ name }) => name),
  );
}

/** Filters that name something, with what there is of it now. */
const LISTS: readonly (readonly [
  filter: "principal" | "key" | "provider" | "model",
  list: (api: Client) => Promise<readonly Named[]>,
])[] = [
  ["principal", (api) => listPrincipals(api)],
  ["key", async (api) => (await listKeys(api, { principal: undefined })).map(toNamedKey)],
  ["provider", (api) => listProviders(api)],
  ["model", async (api) => (await listModels(api)).map(({ alias }) => ({ name: alias }))],
];

/**
 * For a report in which nothing stands: a line for each filter whose name nothing has now, with the nearest one. The names
 * of what is gone filter too, so that this refuses nothing.
 */
export async function describeUnknownFilters(
  api: Client,
  filters: { readonly [filter in (typeof LISTS)[number][0]]?: string },
): Promise<string> {
  const lines: string[] = [];
  for (const [filter, list] of LISTS) {
    const typed = filters[filter];
    if (typed === undefined) continue;
    const rows = await list(api).catch((cause: unknown) => {
      // A caller may be allowed to read reports and not lists: their names are then kept from it.
      if (cause instanceof CommandError && cause.kind === "permission") return null;
      throw cause;
    });
    if (rows === null || rows.some(({ name }) => name === typed)) continue;
    lines.push(`There is no ${filter} of this name now.${suggestNamed(typed, rows)}\n`);
  }
  return lines.join("");
}
