import { type InstantUs, parseInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { STANDARD_GEOS, STANDARD_TIERS, toConditionName } from "#kernel/price-variants.ts";
import type { Pico } from "#kernel/units.ts";
import {
  type BillFormat,
  type BilledUnits,
  type BillRecord,
  type BillRow,
  type ColumnMap,
  type ToolUnit,
} from "./bill.ts";

/** What a record of one format says; null for a row of another product. */
type ToRow = (record: BillRecord) => BillRow | null;

interface Format {
  readonly format: BillFormat;
  /** The columns by which it is recognised; of a list one is enough. */
  readonly columns: readonly (readonly string[])[];
  readonly toRow: ToRow;
}

/** The published shapes, the most particular first. `tests/bills/fixtures` has each with its source. */
const FORMATS: readonly Format[] = [
  {
    format: "openai-costs",
    columns: [["amount_value"], ["start_time", "start_time_iso"]],
    toRow: toOpenAiCosts,
  },
  {
    format: "openai-usage",
    columns: [["num_model_requests"], ["start_time", "start_time_iso"]],
    toRow: toOpenAiUsage,
  },
  {
    format: "anthropic-usage",
    columns: [
      ["uncached_input_tokens", "usage_input_tokens_no_cache"],
      ["starting_at", "usage_date_utc"],
    ],
    toRow: toAnthropicUsage,
  },
  {
    format: "anthropic-costs",
    columns: [
      ["amount", "cost_usd"],
      ["starting_at", "usage_date_utc"],
    ],
    toRow: toAnthropicCosts,
  },
  {
    format: "openrouter",
    columns: [
      ["model_permaslug", "byok_usage_inference"],
      ["usage", "cost_total"],
      ["date", "created_at"],
    ],
    toRow: toOpenRouter,
  },
  {
    format: "azure",
    columns: [["metername"], ["date", "usagedatetime"], ["costinbillingcurrency", "pretaxcost"]],
    toRow: toAzure,
  },
];

/** The format of a file, by the columns that any of its rows has; null for none. */
export function recognise(records: readonly BillRecord[]): BillFormat | null {
  const isThere = (columns: readonly string[]) =>
    columns.some((column) => records.some((record) => record.has(column)));
  return FORMATS.find(({ columns }) => columns.every(isThere))?.format ?? null;
}

/** How records of a format are read. `csv` takes a map of its columns. Throws `invalid_request`. */
export function toRowReader(format: BillFormat, map: ColumnMap): ToRow {
  const known = FORMATS.find((each) => each.format === format);
  if (known !== undefined) return known.toRow;
  if (map.date === undefined)
    throw new ProxyError("invalid_request", "Name the columns of the file: the map needs at least date.", {
      param: "map.date",
    });
  return (record) => toMapped(record, map);
}

/** A row with what is told of it. */
function toTold(
  row: Pick<BillRow, "day" | "units"> & { readonly [key in keyof BillRow]?: BillRow[key] | undefined },
): BillRow {
  const { model, tier, requests, costPico, isTool, toolUnit, conditions = [], ...rest } = row;
  return {
    ...rest,
    ...(model !== undefined && { model }),
    ...(tier !== undefined && { tier }),
    ...(requests !== undefined && { requests }),
    ...(costPico !== undefined && { costPico }),
    ...(isTool === true && { isTool }),
    ...(isTool === true && toolUnit !== undefined && { toolUnit }),
    ...(conditions.length > 0 && { conditions }),
  };
}

/** The units that are told, those of undefined left out. */
function toUnits(units: { readonly [unit in keyof BilledUnits]: number | undefined }): BilledUnits {
  return Object.fromEntries(Object.entries(units).filter(([, quantity]) => quantity !== undefined));
}

/** A tier as the ledger has it: null for the standard one, undefined where none is told. */
function toTier(told: string | undefined, synonyms: { readonly [name: string]: string } = {}) {
  if (told === undefined) return undefined;
  const name = toConditionName(told);
  return STANDARD_TIERS.has(name) ? null : (synonyms[name] ?? name);
}

/** `2026-01-31`, with a time or without, or seconds since 1970. */
function parseDate(text: string): InstantUs | null {
  return /^\d{9,11}$/.test(text) ? Number(text) * 1e6 : parseInstant(text);
}

/** Ends of a name that Azure writes as month/day/year. */
function parseAzureDate(text: string): InstantUs | null {
  const [, month = "", day = "", year = ""] = /^(\d{1,2})\/(\d{1,2})\/(\d{4})\b/.exec(text) ?? [];
  return parseInstant(
    year === "" ? text.slice(0, 10) : `${year}-${month.padStart(2, "0")}-${day.padStart(2, "0")}`,
  );
}

/** `organization.usage.*.result`, and the usage page's CSV. The input contains cached and written tokens. */
function toOpenAiUsage(record: BillRecord): BillRow {
  const input = record.count("input_tokens");
  const cached = record.count("input_cached_tokens");
  return toTold({
    day: record.day(parseDate, "start_time", "start_time_iso"),
    model: record.text("model"),
    tier: record.text("batch")?.toLowerCase() === "true" ? "batch" : toTier(record.text("service_tier")),
    requests: record.wholeCount("num_model_requests"),
    units: toUnits({
      input_tokens: input === undefined ? undefined : Math.max(input - (cached ?? 0), 0),
      cached_input_tokens: cached,
      output_tokens: record.count("output_tokens"),
      images: record.count("images"),
    }),
  });
}

const OPENAI_TOOL =
  /\b(?:web search|file search|code interpreter|containers?|vector stores?|tool calls?|storage)\b/i;

/** Costs of searches; other tools have no unit in the ledger. */
function toToolUnit(name: string | undefined): ToolUnit | undefined {
  return name !== undefined && /\bweb[ _]search/i.test(name) ? "web_searches" : undefined;
}

/** `organization.costs.result`, and the costs page's CSV: `gpt-5-2025-08-07, cached input` is a line item. */
function toOpenAiCosts(record: BillRecord): BillRow {
  const item = record.text("line_item");
  const isTool = item !== undefined && OPENAI_TOOL.test(item);
  const [model, ...words] = item?.split(",").map((part) => part.trim()) ?? [];
  const tier = /\b(?:batch|flex|priority)\b/i.exec(words.join(" "))?.[0];
  return toTold({
    day: record.day(parseDate, "start_time", "start_time_iso"),
    model: isTool ? item : model,
    tier: toTier(tier),
    units: {},
    costPico: record.amount("amount_value"),
    isTool,
    toolUnit: toToolUnit(item),
  });
}

/** Priority beyond a commitment is answered as `priority`. */
const ANTHROPIC_TIERS = { priority_on_demand: "priority", flex_discount: "flex", message: "standard" };

function toAnthropicTier(record: BillRecord): string | null | undefined {
  const told = toTier(record.text("service_tier", "usage_type"), ANTHROPIC_TIERS);
  const tier = told === "standard" ? null : told;
  const speed = toTier(record.text("speed"));
  if (speed !== "fast") return tier;
  return typeof tier === "string" ? `${tier}+fast` : "fast";
}

function toAnthropicConditions(record: BillRecord): readonly string[] {
  const context = record.text("context_window");
  const geo = record.text("inference_geo");
  return [
    ...(context === undefined || /^(?:0|≤|<)/u.test(context) ? [] : [`context ${context}`]),
    ...(geo === undefined || STANDARD_GEOS.has(toConditionName(geo)) ? [] : [`region ${geo}`]),
  ];
}

/** `usage_report/messages`, and the Console's usage CSV. It tells no number of requests. */
function toAnthropicUsage(record: BillRecord): BillRow {
  const parts = [
    record.count("uncached_input_tokens", "usage_input_tokens_no_cache"),
    record.count("cache_creation_ephemeral_5m_input_tokens", "usage_input_tokens_cache_write_5m"),
    record.count("cache_creation_ephemeral_1h_input_tokens", "usage_input_tokens_cache_write_1h"),
  ].filter((part) => part !== undefined);
  const searches = record.count("server_tool_use_web_search_requests", "web_search_count");
  return toTold({
    day: record.day(parseDate, "starting_at", "usage_date_utc"),
    model: record.text("model", "model_version"),
    tier: toAnthropicTier(record),
    conditions: toAnthropicConditions(record),
    units: toUnits({
      input_tokens: parts.length === 0 ? undefined : parts.reduce((sum, part) => sum + part, 0),
      cached_input_tokens: record.count("cache_read_input_tokens", "usage_input_tokens_cache_read"),
      output_tokens: record.count("output_tokens", "usage_output_tokens"),
      web_searches: searches === 0 ? undefined : searches,
    }),
  });
}

const CENTS = 100n;
const TOKEN_COSTS: ReadonlySet<string> = new Set(["tokens", "token"]);

/** `cost_report`, whose amounts are cents, and the Console's cost CSV, whose amounts are dollars. */
function toAnthropicCosts(record: BillRecord): BillRow {
  const cents = record.amount("amount");
  const type = record.text("cost_type");
  const isTool = type !== undefined && !TOKEN_COSTS.has(type);
  return toTold({
    day: record.day(parseDate, "starting_at", "usage_date_utc"),
    model: isTool ? type : record.text("model"),
    tier: isTool ? undefined : toAnthropicTier(record),
    conditions: toAnthropicConditions(record),
    units: {},
    costPico: cents === undefined ? record.amount("cost_usd") : toHundredth(cents),
    isTool,
    toolUnit: toToolUnit(type),
  });
}

function toHundredth(cents: Pico): Pico {
  const half = cents < 0n ? -CENTS / 2n : CENTS / 2n;
  return (cents + half) / CENTS;
}

/** Activity by day and endpoint, or of single generations. The input contains cached tokens. */
function toOpenRouter(record: BillRecord): BillRow {
  return toTold({
    day: record.day(parseDate, "date", "created_at"),
    model: record.text("model", "model_permaslug"),
    requests: record.has("generation_id") ? 1 : record.wholeCount("requests"),
    units: toUnits({
      input_tokens: record.count("prompt_tokens", "tokens_prompt"),
      output_tokens: record.count("completion_tokens", "tokens_completion"),
    }),
    costPico: record.amount("usage", "cost_total"),
  });
}

/** The words of meters, such as `gpt-4o-mini-0718-Inp-glbl Tokens` and `gpt 5 cd inp Gl 1M Tokens`. */
const AZURE_WORDS = {
  input: /^(?:inp|input|inpt)$/,
  output: /^(?:out|outp|opt|output)$/,
  cached: /^(?:cached|cchd|ccchd|cd)$/,
  written: /^(?:wr|write)$/,
  place: /^(?:glbl|gl|global|regnl|rg|regional|dz|dzone|data|zone|std|tokens?|1k|1m)$/,
  batch: /^batch$/,
  priority: /^pp$/,
};
const AZURE_MODELS = /openai|foundry|cognitive services|azure ai/i;

/** Cost details of Azure, with the deployment's kind in the name of the meter, the standard one without a word. Quantities are thousands of tokens, or millions. */
function toAzure(record: BillRecord): BillRow | null {
  const meter = record.text("metername") ?? "";
  const category = `${record.text("metercategory") ?? ""} ${record.text("metersubcategory") ?? ""}`;
  if (!AZURE_MODELS.test(category) || !/tokens?\b/i.test(meter)) return null;
  const words = meter.split(/[\s-]+/);
  const isOneOf = (pattern: RegExp) => words.some((word) => pattern.test(word.toLowerCase()));
  const model = words
    .filter((word) => !Object.values(AZURE_WORDS).some((pattern) => pattern.test(word.toLowerCase())))
    .join("-");
  const quantity = record.count("quantity", "usagequantity") ?? 0;
  const tokens = Math.round(quantity * toAzureScale(record.text("unitofmeasure") ?? meter));
  const isCached = isOneOf(AZURE_WORDS.cached) && !isOneOf(AZURE_WORDS.written);
  const unit = isOneOf(AZURE_WORDS.output)
    ? "output_tokens"
    : isCached
      ? "cached_input_tokens"
      : "input_tokens";
  return toTold({
    day: record.day(parseAzureDate, "date", "usagedatetime"),
    model,
    tier: isOneOf(AZURE_WORDS.batch) ? "batch" : isOneOf(AZURE_WORDS.priority) ? "priority" : null,
    units: { [unit]: tokens },
    costPico: record.amount("costinbillingcurrency", "pretaxcost"),
  });
}

/** The tokens of one unit of measure; a thousand where nothing is said. */
function toAzureScale(measure: string): number {
  const [, count = "1", letter = "K"] = /\b(\d+)\s*([KM])\b/i.exec(measure) ?? [];
  return Number(count) * (letter.toUpperCase() === "M" ? 1e6 : 1e3);
}

function toMapped(record: BillRecord, map: ColumnMap): BillRow {
  const of = (field: keyof ColumnMap) => map[field]?.toLowerCase() ?? "";
  return toTold({
    day: record.day(parseDate, of("date")),
    model: record.text(of("model")),
    tier: toTier(record.text(of("tier"))),
    requests: record.wholeCount(of("requests")),
    units: toUnits({
      input_tokens: record.count(of("input_tokens")),
      cached_input_tokens: record.count(of("cached_input_tokens")),
      output_tokens: record.count(of("output_tokens")),
    }),
    costPico: record.amount(of("cost")),
  });
}
