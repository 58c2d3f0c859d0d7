import { isJsonObject } from "#kernel/json.ts";
import type { BodyOf } from "#http/client.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { describePrices, describeRoute, describeVariants } from "#interchange/catalog-text.ts";
import type { Note, Problem } from "#interchange/source.ts";
import { toCounted } from "#kernel/text.ts";
import type { PeopleFile } from "#views/people-file.ts";
import { describePeople, isOfPeople } from "./people-changes.ts";
import type { Client } from "#cli/installation/client.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { toPrintable } from "#kernel/printable.ts";
import { withProgress } from "#cli/screen/progress.ts";
import { createStyle } from "#cli/screen/output.ts";
import { toTable } from "#cli/screen/table.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

type CatalogBody = BodyOf<"POST /admin/v1/catalog">;

export interface CatalogCall {
  readonly file: CatalogBody;
  readonly isDryRun: boolean;
  /** What else the request says. */
  readonly option: "prune" | "add_only" | null;
}

export type CatalogOutcome = Awaited<ReturnType<typeof askCatalog>>;

function askCatalog(api: Client, { file, isDryRun, option }: CatalogCall) {
  const query = { ...(isDryRun && { dry_run: "1" }), ...(option !== null && { [option]: "1" }) };
  return api.call("POST /admin/v1/catalog", { body: file, query });
}

/** Throws a `CommandError` when Ctrl-C comes before the answer. */
export async function applyCatalog(
  terminal: Terminal,
  api: Client,
  call: CatalogCall,
): Promise<CatalogOutcome> {
  if (call.isDryRun) return withProgress(terminal, "comparing", () => askCatalog(api, call));
  const end = terminal.watchEnd({ withOutput: false });
  if (end.aborted) throw new CommandError("failure", "It was interrupted, and nothing was changed.");
  const interrupted = Promise.withResolvers<never>();
  end.addEventListener("abort", () => interrupted.reject(new CommandError("failure", INTERRUPTED)), {
    once: true,
  });
  // The answer may come first, and then nothing waits for it.
  interrupted.promise.catch(() => undefined);
  return withProgress(terminal, "applying", () => Promise.race([interrupted.promise, askCatalog(api, call)]));
}

const INTERRUPTED =
  "It was interrupted: either all of it was made or nothing. The same command with --dry-run tells.";

/** Where a secret comes from, in words. */
export interface SecretSources {
  /** The sources of providers' API keys. */
  readonly keys: ReadonlyMap<string, string>;
  readonly trustRoots: ReadonlyMap<string, string>;
  /** The file's own keys. */
  readonly people?: PeopleFile["keys"];
}

type Change = CatalogOutcome["changes"][number];

/** The difference as lines of +, ~ and -, on stdout. */
export function writeChanges(terminal: Terminal, changes: readonly Change[], sources: SecretSources): void {
  if (changes.length === 0) return;
  const style = createStyle(terminal.env, terminal.screens.data);
  const signs = { create: style.good("+"), update: style.warn("~"), delete: style.bad("-") };
  const rows = changes.map((change) => [
    signs[change.action],
    change.kind,
    toPrintable(change.name),
    toPrintable(describe(change, sources).join("; ")),
  ]);
  const [first = [], ...rest] = rows;
  terminal.writeData(toTable(first, rest));
}

/** What has to be known beside it, a line each on stderr. */
export function writeNotes(terminal: Terminal, notes: readonly (Note | string)[]): void {
  for (const note of notes) {
    const text = typeof note === "string" ? note : `line ${note.line}: ${note.sentence}`;
    terminal.writeMessage(`${toPrintable(text)}\n`);
  }
}

export function writeEnd(terminal: Terminal, { applied, changes }: CatalogOutcome): void {
  const counted = countChanges(changes);
  const end = applied ? `made ${counted}` : `${counted} to make; nothing was changed`;
  terminal.writeMessage(`${changes.length === 0 ? "nothing to change" : end}\n`);
}

/** What is wrong with a file, told at once. */
export function refuseFile(path: string, problems: readonly Problem[]): CommandError {
  const lines = problems
    .slice(0, PROBLEMS_SHOWN_MAX)
    .map(({ line, sentence }) => `\n  line ${line}: ${toPrintable(sentence)}`);
  const rest = problems.length - lines.length;
  const more = rest > 0 ? `\n  and ${rest} more` : "";
  return new CommandError(
    "failure",
    `${path === "-" ? "stdin" : toPrintable(path)} cannot be used as it is; nothing was changed.${lines.join("")}${more}`,
  );
}

const PROBLEMS_SHOWN_MAX = 20;

export function countChanges(changes: readonly Change[]): string {
  return toCounted(changes.length, "change");
}

function describe(change: Change, sources: SecretSources): readonly string[] {
  if (change.kind === "provider") return describeProvider(change, sources);
  if (isOfPeople(change)) return describePeople(change, sources.people);
  const [before, after] = [change.before ?? {}, change.after ?? {}];
  if (change.kind === "feed") {
    const changed = change.after ?? before;
    const prices = Object.values(toObject(changed["prices"])).map(toObject);
    const lists = Object.keys(toObject(changed["variants"])).length;
    const count = prices.reduce((sum, ofName) => sum + Object.keys(ofName).length, 0);
    return [toCounted(count, "price"), ...(lists === 0 ? [] : [`variants of ${toCounted(lists, "name")}`])];
  }
  if (change.kind === "prices_to_come") return describeToCome(change);
  if (change.action === "delete") return [show("route", before["route"])];
  if (change.action === "create") {
    const { route, capabilities, pricing, price_variants: variants, hidden } = after;
    return [
      show("route", route),
      ...(capabilities === undefined ? [] : [show("capabilities", capabilities)]),
      ...(Object.keys(toObject(pricing)).length === 0 ? [] : [show("pricing", pricing)]),
      ...(variants === undefined ? [] : [`variants ${show("price_variants", variants)}`]),
      ...(hidden === true ? ["hidden"] : []),
    ];
  }
  const isShown = (field: string) =>
    field === "price_variants" ? field in before || field in after : field in before && field in after;
  return MODEL_FIELDS.filter(([field]) => isShown(field)).map(
    ([field, label, arrow]) =>
      `${label}: ${show(field, before[field])} ${arrow} ${show(field, after[field])}`,
  );
}

const TO_COME_FIELDS = [
  ["feed", "price list"],
  ["pricing", "prices"],
  ["price_variants", "variants"],
] as const;

/** A set that is absent leaves the one that there is at that moment. */
function describeToCome({ before, after }: Change): readonly string[] {
  const [was, is] = [before ?? after ?? {}, after ?? before ?? {}];
  const tell = (field: string, fields: typeof was) =>
    field in fields ? show(field, fields[field]) : "as they are";
  return [
    `from ${String(is["effective_from"])}`,
    ...TO_COME_FIELDS.filter(([field]) => field in was || field in is).map(([field, label]) => {
      const [old, now] = [tell(field, was), tell(field, is)];
      return `${label}: ${old === now ? now : `${old} -> ${now}`}`;
    }),
  ];
}

/** In the order of a line, as the file calls them; a route has an arrow of its own. */
const MODEL_FIELDS = [
  ["route", "route", "=>"],
  ["capabilities", "capabilities", "->"],
  ["pricing", "prices", "->"],
  ["price_variants", "variants", "->"],
  ["hidden", "hidden", "->"],
] as const;

const { caPem: _, ...SHOWN_SETTINGS } = PROVIDER_SETTINGS;

/** Fields of a provider in the order of a line, with what goes without saying. */
const PROVIDER_DEFAULTS: { readonly [field: string]: unknown } = {
  base_url: undefined,
  ...Object.fromEntries(Object.values(SHOWN_SETTINGS).map(({ wire, initial }) => [wire, initial])),
  endpoints: {},
  enabled: true,
};

function describeProvider({ name, action, before, after, credential }: Change, sources: SecretSources) {
  if (before !== null && after === null) return [show("base_url", before["base_url"])];
  const [was, now] = [before ?? {}, after ?? {}];
  // A field that is absent has its default.
  const fields = Object.entries(PROVIDER_DEFAULTS).filter(([field]) => field in was || field in now);
  const key = credential === "set" ? [`API key from ${sources.keys.get(name) ?? "the request"}`] : [];
  const trusts =
    now["has_custom_ca"] === true ? [`trusts ${sources.trustRoots.get(name) ?? "its own roots"}`] : [];
  if (action === "create") {
    const unusual = fields.filter(
      ([field, usual]) => field !== "base_url" && show(field, now[field]) !== show(field, usual),
    );
    return [
      show("base_url", now["base_url"]),
      ...(key.length === 0 ? ["no API key"] : key),
      ...trusts,
      ...unusual.map(([field]) => `${field}: ${show(field, now[field])}`),
    ];
  }
  return [
    ...fields.map(
      ([field, usual]) =>
        `${field}: ${show(field, was[field] ?? usual)} -> ${show(field, now[field] ?? usual)}`,
    ),
    ...("base_url" in now && credential === "kept" ? ["its stored API key goes to the new address"] : []),
    ...key,
    ...trusts,
  ];
}

function show(field: string, value: unknown): string {
  switch (field) {
    case "route":
      return describeRoute(
        Object.fromEntries(Object.entries(toObject(value)).map(([part, name]) => [part, show(part, name)])),
      );
    case "pricing":
      return describePrices(toObject(value));
    case "price_variants":
      return Array.isArray(value) ? describeVariants(value) : "none";
    case "capabilities":
      return Array.isArray(value) && value.length > 0 ? value.join(", ") : "none";
    case "max_concurrency":
      return value === null ? "unlimited" : show("", value);
    case "endpoints": {
      const pairs = Object.entries(toObject(value)).map(([endpoint, url]) => `${endpoint}=${String(url)}`);
      return pairs.length === 0 ? "none" : pairs.toSorted().join(" ");
    }
    default:
      return String(value);
  }
}

function toObject(value: unknown): { readonly [field: string]: unknown } {
  return isJsonObject(value) ? value : {};
}
