import { isJsonObject } from "#kernel/json.ts";
import { type Command, Option } from "commander";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { writeJson, writeList, writeDone } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import {
  type NamesInUse,
  toPricedModels,
  createListLookup,
  createMapLookup,
  findPricesInUse,
} from "#interchange/prices-in-use.ts";
import { createSystemClock, formatInstant, type InstantUs, DAY_US } from "#kernel/clock.ts";
import { toPrintable } from "#kernel/printable.ts";
import { toCounted } from "#kernel/text.ts";
import { UNITS, type Unit, toPricePerMillion } from "#kernel/units.ts";
import { toConditionWords } from "#kernel/price-variants.ts";
import { toConditionsView } from "#catalog/price-fields.ts";
import type { AnswerOf } from "#http/client.ts";
import { readTextInput } from "#cli/input/input.ts";
import { given, type Client, type Installation } from "#cli/installation/client.ts";
import { listModels, listProviders } from "#cli/installation/lists.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { withProgress } from "#cli/screen/progress.ts";
import { writeUnpriced } from "#cli/commands/model-list.ts";
import { parseFeed, type FeedDraft, type FeedEntry, isListVersion } from "#catalog/feed.ts";
import { createPriceMapReader, isPriceMap, type UnreadField } from "#interchange/price-map.ts";
import type { JsonObject } from "#kernel/json.ts";
import { ProxyError } from "#kernel/errors.ts";
import { readReport } from "#cli/input/report.ts";
import { addPricingVariantsCommand } from "#cli/commands/price-variants.ts";

interface ShowOptions extends InstallationOptions {
  readonly model?: string;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const pricing = program.command("pricing").description("prices per million units");

  addPricingLoadCommand(pricing, terminal);

  const show = addCommand(pricing, "show", "show every price that is kept, and the feed it came from")
    .option("--model <name>", "only those under this alias or upstream name")
    .action((options: ShowOptions) =>
      withInstallation(terminal, options, async ({ api }) => {
        const view = await api.call("GET /admin/v1/pricing");
        const entries = view.entries.filter(
          ({ model }) => options.model === undefined || model === options.model,
        );
        if (options.json === true) {
          writeJson(terminal, { ...view, entries });
          return;
        }
        writeList(terminal, options, {
          views: entries,
          columns: ["model", "unit", "price_per_million", "version"],
          figures: ["price_per_million"],
        });
        if (options.model !== undefined && entries.length === 0) {
          terminal.writeMessage("No price is kept under this name.\n");
          return;
        }
        terminal.writeMessage(
          view.version === null
            ? "no feed was loaded yet\n"
            : `newest feed: ${view.version}, loaded ${view.loaded_at}\n`,
        );
      }),
    );
  addExamples(show, ["lockport pricing show", "lockport pricing show --model gpt-5 --json"]);

  addPricingMissingCommand(pricing, terminal);

  addPricingVariantsCommand(pricing, terminal);
}

interface LoadOptions extends InstallationOptions {
  readonly listPrices?: true;
  readonly all?: true;
  readonly replace?: true;
  readonly dryRun?: true;
}

export function addPricingLoadCommand(pricing: Command, terminal: Terminal): void {
  const load = addCommand(pricing, "load [file]", "load prices: a feed, LiteLLM's price map, or list prices")
    .addOption(new Option("--list-prices", "public list prices, of the day that it says; no file then"))
    .option("--all", "of a price map or the list prices all names, not only those in use here")
    .option("--replace", "of these also over prices that were set in another way")
    .option("--dry-run", "show what would change, and change nothing")
    .action(async (file: string | undefined, options: LoadOptions) => {
      if ((file === undefined) === (options.listPrices === undefined)) {
        throw new CommandError("usage", "Name either a file (- for stdin) or --list-prices.");
      }
      const text = file === undefined ? null : parsePriceText(await readTextInput(terminal, file));
      await withInstallation(terminal, options, async (installation) => {
        const { api } = installation;
        if (text?.kind === "feed") {
          refuseForFeed(options);
          if (options.dryRun === true) {
            await loadList(terminal, api, { list: readFeed(text.feed), options });
            return;
          }
          const view = await withProgress(terminal, "loading prices", () =>
            api.call("POST /admin/v1/pricing", { body: given(text.feed) }),
          );
          writeLoaded(terminal, options, view);
          return;
        }
        const inUse = options.all === true ? null : await findNamesInUse(installation);
        const list =
          text === null ? await readList(api, inUse) : readMap(text.map, inUse, createSystemClock().nowUs());
        await loadList(terminal, api, { list, options });
      });
    });
  load.addHelpText(
    "after",
    `
A feed is JSON (- reads it from stdin), and is loaded whole or not at all:
  {"version": "2026-03", "entries": [
    {"model": "gpt-5", "unit": "input_tokens", "price_per_million": 1.25},
    {"model": "gpt-5", "unit": "output_tokens", "price_per_million": 10}]}
Units:
  ${UNITS.join("\n  ")}
LiteLLM's map is its model_prices_and_context_window.json. Of it, and of the
list prices, only names in use here are loaded, and prices that were set with a
model or by another feed stay. What is not named stays in any case.`,
  );
  addExamples(load, [
    "lockport pricing load --list-prices --dry-run",
    "lockport pricing load prices.json",
    "lockport pricing load model_prices_and_context_window.json --dry-run",
  ]);
}

/** A feed says by itself what it names and what it replaces. */
function refuseForFeed({ all, replace }: LoadOptions): void {
  const flag = all === true ? "--all" : replace === true ? "--replace" : null;
  if (flag === null) return;
  throw new CommandError(
    "usage",
    `${flag} is for a price map and for --list-prices: a feed sets what it names.`,
  );
}

async function findNamesInUse(installation: Installation): Promise<NamesInUse> {
  const { api } = installation;
  const models = toPricedModels(await listModels(api), await listProviders(api));
  const { views } = await findMissing(installation);
  const kept = await api.call("GET /admin/v1/pricing");
  return { models, others: [...views, ...kept.entries].map(({ model }) => model) };
}

interface PriceRow {
  readonly model: string;
  readonly unit: Unit;
  readonly when?: Conditions;
  /** Absent for one that holds once it is loaded. */
  readonly effective_from?: string;
  readonly now: number | null;
  /** Null: it is removed. */
  readonly new: number | null;
}

interface ListCall {
  readonly list: PriceList;
  readonly options: LoadOptions;
}

async function loadList(terminal: Terminal, api: Client, { list, options }: ListCall): Promise<void> {
  const findKept = createKeptLookup(await api.call("GET /admin/v1/pricing"));
  const rows: PriceRow[] = [];
  let stayCount = 0;
  for (const { price_per_million: price, ...place } of list.entries) {
    const there = findKept(place);
    // A price to come leaves the one that holds until then.
    if (there?.price === price && place.effective_from === undefined) continue;
    if (there === undefined || options.replace === true || list.isEarlier(there.version))
      rows.push({ ...place, now: there?.price ?? null, new: price });
    else stayCount += 1;
  }
  for (const place of list.removed ?? []) {
    const now = findKept(place)?.price ?? null;
    if (now !== null) rows.push({ ...place, now, new: null });
  }
  const feed = {
    version: list.version,
    // Only a dry run has prices that are removed.
    entries: rows.flatMap(({ model, unit, when, new: price, effective_from: from }) =>
      price === null
        ? []
        : {
            model,
            unit,
            ...(when !== undefined && { when }),
            price_per_million: price,
            ...(from !== undefined && { effective_from: from }),
          },
    ),
  };
  const tell = () => {
    if (options.json === true) return;
    for (const note of list.entries.length === 0 ? [] : list.notes)
      terminal.writeMessage(`${toPrintable(note)}\n`);
    if (stayCount > 0) {
      terminal.writeMessage(
        `${toCounted(stayCount, "price")} set in another way ${stayCount === 1 ? "stays" : "stay"} as ${stayCount === 1 ? "it is" : "they are"}; --replace takes them too.\n`,
      );
    }
  };
  if (rows.length === 0 || options.dryRun === true) {
    // Refuses what loading them would refuse, as more variants of a model than there may be.
    if (feed.entries.length > 0)
      await api.call("POST /admin/v1/pricing/preview", { body: { entries: feed.entries } });
    if (options.json === true) writeJson(terminal, { version: list.version, changes: rows });
    else if (rows.length > 0) {
      writeList(terminal, options, {
        views: rows.map(toRowView),
        columns: [
          "model",
          "unit",
          ...(rows.some(({ when }) => when !== undefined) ? (["when"] as const) : []),
          ...(rows.some(({ effective_from: from }) => from !== undefined) ? (["from"] as const) : []),
          "now",
          "new",
        ],
        figures: ["now", "new"],
      });
    }
    tell();
    if (options.json !== true) terminal.writeMessage(toEnd(rows.length, list));
    return;
  }
  const view = await withProgress(terminal, "loading prices", () =>
    api.call("POST /admin/v1/pricing", { body: feed }),
  );
  writeLoaded(terminal, options, view);
  tell();
  if (options.json !== true) await writeUnpriced(terminal, api, { models: await listModels(api), options });
}

interface KeptPrice {
  /** Null: of a list of variants that has none there. */
  readonly price: number | null;
  readonly version: string | null;
}

/**
 * Finds the price that is kept at a place. A list of variants is one row: what a feed sets in it makes all of it the feed's, so
 * that a list that was set in another way is such a price everywhere.
 */
function createKeptLookup({ entries, variants = [] }: AnswerOf<"GET /admin/v1/pricing">) {
  const kept = new Map<string, KeptPrice>(
    entries.map(({ model, unit, price_per_million: price, version }) => [
      toPriceId({ model, unit }),
      { price, version },
    ]),
  );
  const lists = new Map(variants.map(({ model, version }) => [model, { price: null, version }]));
  for (const { model, when, pricing, version } of variants) {
    for (const unit of UNITS) {
      const price = pricing[unit];
      if (price !== undefined) kept.set(toPriceId({ model, unit, when }), { price, version });
    }
  }
  return (place: Place): KeptPrice | undefined =>
    kept.get(toPriceId(place)) ?? (place.when === undefined ? undefined : lists.get(place.model));
}

type Place = Pick<PriceRow, "model" | "unit" | "when">;

function toPriceId({ model, unit, when }: Place): string {
  // Views of conditions have their members in one order.
  return `${unit} ${JSON.stringify(when)} ${model}`;
}

function toRowView({ when, effective_from: from, ...row }: PriceRow) {
  return {
    ...row,
    when: when === undefined ? null : toConditionWords(when),
    from: from === undefined ? null : `${from.slice(0, 19)}Z`,
  };
}

function toEnd(count: number, { entries, version }: PriceList): string {
  if (count > 0) return `${toCounted(count, "price")} to load, version ${version}; nothing was changed\n`;
  return entries.length === 0
    ? "it has no price for a name that is in use here; --all loads every name\n"
    : "nothing to change\n";
}

function writeLoaded(
  terminal: Terminal,
  options: InstallationOptions,
  view: { readonly entries: number; readonly version: string },
): void {
  const sentence = `loaded ${toCounted(view.entries, "price")}, version ${view.version}`;
  writeDone(terminal, options, { view, sentence });
}

/** Prices that a list would set, and notes about them. */
interface PriceList {
  readonly version: string;
  readonly entries: readonly PriceEntry[];
  /** Prices that are kept no longer; only a feed names some. */
  readonly removed?: readonly Place[];
  readonly notes: readonly string[];
  /** True when a price of this feed came from an earlier list of the same kind, and so gives way. */
  readonly isEarlier: (version: string | null) => boolean;
}

type Conditions = ReturnType<typeof toConditionsView>;

interface PriceEntry {
  readonly model: string;
  readonly unit: Unit;
  readonly price_per_million: number;
  readonly when?: Conditions;
  /** A moment to come; absent for a price that holds once it is loaded. */
  readonly effective_from?: string;
}

/** A file as it was parsed: a feed, sent as it is, or LiteLLM's public price map. Throws a `CommandError`. */
function parsePriceText(
  text: string,
): { readonly kind: "feed"; readonly feed: FeedDraft } | { readonly kind: "map"; readonly map: JsonObject } {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new CommandError("failure", "The feed is not JSON: lockport pricing load --help shows one.");
  }
  if (isJsonObject(parsed) && !Array.isArray(parsed["entries"]) && isPriceMap(parsed)) {
    return { kind: "map", map: parsed };
  }
  if (!isJsonObject(parsed) || !Array.isArray(parsed["entries"])) {
    throw new ProxyError("invalid_pricing", "A feed must have a version and a list of entries.", {
      param: "entries",
    });
  }
  const { version, entries, removed, ...rest } = parsed;
  const [unknownField] = Object.keys(rest);
  if (unknownField !== undefined || (removed !== undefined && !Array.isArray(removed))) {
    throw new ProxyError(
      "invalid_request",
      "A feed can have a version, entries and a list of removed prices, and no other field.",
      { param: unknownField ?? "removed" },
    );
  }
  return { kind: "feed", feed: { version, entries: Array.isArray(entries) ? entries : [], removed } };
}

/** A feed as a list whose prices take the place of all. Throws what loading it would throw. */
function readFeed(feed: FeedDraft): PriceList {
  const { version, entries, removed } = parseFeed(feed);
  const nowUs = createSystemClock().nowUs();
  const toEntry = (entry: FeedEntry): PriceEntry => {
    const { effectiveFromUs: fromUs } = entry;
    const isToCome = fromUs !== undefined && fromUs > nowUs;
    return { ...toPriceEntry(entry), ...(isToCome && { effective_from: formatInstant(fromUs) }) };
  };
  return {
    version,
    entries: entries.map(toEntry),
    removed: removed.map(toPlaceView),
    notes: [],
    isEarlier: () => true,
  };
}

const MAP_LABEL = "litellm";

/** Reads a map's prices for the names in use, or all of them; it has no version, and gets the day. */
function readMap(map: JsonObject, inUse: NamesInUse | null, nowUs: InstantUs): PriceList {
  const reader = createPriceMapReader();
  const sources =
    inUse === null
      ? Object.keys(map).map((name) => ({ name, listed: name }))
      : findPricesInUse(inUse, createMapLookup(map));
  for (const { name, listed } of sources) reader.read(name, map[listed]);
  const { entries, skipped, unread, uncachedCount } = reader.finish();
  const failed = skipped.filter(({ name }) => name !== "sample_spec");
  return {
    version: `${MAP_LABEL} ${formatInstant(nowUs).slice(0, 10)}`,
    entries: entries.map(toPriceEntry),
    notes: [
      ...(failed.length === 0
        ? []
        : [`${toCounted(failed.length, "price")} of the map cannot be kept here.`]),
      ...(unread.length === 0 ? [] : [toUnreadNote(unread)]),
      ...(uncachedCount === 0
        ? []
        : [
            `${toCounted(uncachedCount, "model")} of these ${uncachedCount === 1 ? "has" : "have"} no price of cached input under some condition: there it is unpriced.`,
          ]),
    ],
    isEarlier: (version) => version?.startsWith(`${MAP_LABEL} `) === true,
  };
}

/** As many as one reads. */
const FIELDS_MAX = 8;

function toUnreadNote(unread: readonly UnreadField[]): string {
  const named = unread
    .slice(0, FIELDS_MAX)
    .map(({ field, models }) => `${field} (${toCounted(models, "model")})`);
  const rest = unread.length - named.length;
  return `No unit or condition here, so not read: ${named.join(", ")}${rest > 0 ? ` and ${toCounted(rest, "other field")}` : ""}.`;
}

/** The list prices that the installation has with it. */
async function readList(api: Client, inUse: NamesInUse | null): Promise<PriceList> {
  const { version, source, as_of: asOf, entries } = await api.call("GET /admin/v1/pricing/list");
  const names = new Set(entries.map(({ model }) => model));
  const sources =
    inUse === null
      ? [...names].map((name) => ({ name, listed: name }))
      : findPricesInUse(inUse, createListLookup(names));
  return {
    version,
    entries: sources.flatMap(({ name, listed }) =>
      entries
        .filter(({ model }) => model === listed)
        .map((entry) => Object.assign({}, entry, { model: name })),
    ),
    notes: [`List prices of ${asOf}, from ${source}. Compare them with your contract.`],
    isEarlier: isListVersion,
  };
}

function toPriceEntry(entry: FeedEntry): PriceEntry {
  return { ...toPlaceView(entry), price_per_million: toPricePerMillion(entry.pricePico) };
}

function toPlaceView({ name, unit, when }: Pick<FeedEntry, "name" | "unit" | "when">): Place {
  return { model: name, unit, ...(when !== undefined && { when: toConditionsView(when) }) };
}

const WINDOW_DAYS = 30;

export function addPricingMissingCommand(pricing: Command, terminal: Terminal): void {
  const command = addCommand(
    pricing,
    "missing",
    `list what was used in the last ${WINDOW_DAYS} days and has no price now`,
  ).action((options: InstallationOptions) =>
    withInstallation(terminal, options, async (installation) => {
      const { views, notices } = await findMissing(installation);
      const hasReasons = views.some(({ reason }) => reason !== undefined);
      writeList(terminal, options, {
        views,
        columns: [
          "model",
          "kind",
          "unit",
          ...(hasReasons ? (["reason"] as const) : []),
          "quantity",
          "requests",
          "last_seen",
        ],
        figures: ["quantity", "requests"],
      });
      for (const notice of notices) terminal.writeMessage(`${notice}\n`);
      if (options.json === true) return;
      const advice = views.every(({ reason }) => reason !== undefined)
        ? "no price of these models holds for it"
        : "set prices with lockport pricing load";
      terminal.writeMessage(
        views.length === 0
          ? `every unit that was used in the last ${WINDOW_DAYS} days has a price\n`
          : `such usage is recorded as unpriced; ${advice}\n`,
      );
    }),
  );
  command.addHelpText(
    "after",
    "\nKinds: model, relay (priced under exactly its name), gone (no longer in the catalog).\nReasons: tier: flex and the like, of what was answered at a service tier for which no price holds.",
  );
  addExamples(command, [
    "lockport pricing missing",
    "lockport pricing missing --json | jq -r '.[].model' | sort -u",
  ]);
}

/** One row per name and unit, as the report answers them. */
export async function findMissing(installation: Installation) {
  const since = formatInstant(installation.clock.nowUs() - WINDOW_DAYS * DAY_US);
  const { body, notices } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /admin/v1/usage/missing-prices", { query: { since } }),
  );
  return { views: body.missing.filter((row) => !row.has_price), notices };
}
