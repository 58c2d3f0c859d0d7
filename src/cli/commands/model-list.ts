import { describePrices } from "#interchange/catalog-text.ts";
import { toConditionWords } from "#kernel/price-variants.ts";
import type { Command } from "commander";
import { toPrintable } from "#kernel/printable.ts";
import { isPriceMissed, isUnitUsed, findMissedUnits } from "#catalog/missed-prices.ts";
import { isRareUnit, isReportUnit, UNIT_TABLE, UNITS, type Unit } from "#kernel/units.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { formatCommand } from "#cli/screen/typed-command.ts";
import type { Client } from "#cli/installation/client.ts";
import type { AnswerOf } from "#http/client.ts";
import { getModel, listModels } from "#cli/installation/lists.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { toPrice, writeJson, writeTable } from "#cli/screen/output.ts";
import { toTable } from "#cli/screen/table.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { Capability } from "#catalog/capability.ts";
import { toCounted } from "#kernel/text.ts";

interface ListOptions extends InstallationOptions {
  readonly provider?: string;
}

type ModelView = Awaited<ReturnType<typeof getModel>>;

/** `model list` and `model info`: what callers may name, where it leads and what it costs. */
export function addModelListCommands(model: Command, terminal: Terminal): void {
  const list = addCommand(model, "list", "list models, with their prices per million")
    .option("--provider <name>", "only this provider's")
    .action((options: ListOptions) =>
      withInstallation(terminal, options, async ({ api }) => {
        const models = await listModels(api, { provider: options.provider });
        if (options.json === true) writeJson(terminal, models);
        else writeModels(terminal, models);
        if (options.json !== true) await writeUnpriced(terminal, api, { models, options });
      }),
    );
  addExamples(list, ["lockport model list", "lockport model list --provider openai --json"]);

  const info = addCommand(
    model,
    "info <alias>",
    "show one model, and where each of its prices comes from",
  ).action((alias: string, options: InstallationOptions) =>
    withInstallation(terminal, options, async ({ api }) => {
      const view = await getModel(api, alias);
      const query = { model: alias };
      const { schedule } = await api.call("GET /admin/v1/pricing/schedule", { query });
      if (options.json === true) {
        writeJson(terminal, { ...view, ...(schedule.length > 0 && { prices_to_come: schedule }) });
        return;
      }
      const entries = await listPrices(api);
      const rows = UNITS.filter((unit) => isShown(view, unit)).map((unit) => [
        unit,
        toPrice(view.pricing[unit], unit),
        toPrintable(view.pricing[unit] === undefined ? "" : describeOrigin(view, unit, entries)),
      ]);
      terminal.writeData(
        toTable(
          ["alias", toPrintable(view.alias), ""],
          [...toFacts(view), ...rows, ...toVariantRows(view), ...schedule.flatMap(toComingRows)],
        ),
      );
      await writeUnpriced(terminal, api, { models: [view], options });
    }),
  );
  addExamples(info, ["lockport model info fast", "lockport model info fast --json"]);
}

function toVariantRows({ price_variants: variants = [] }: ModelView): readonly (readonly string[])[] {
  return variants.map(({ when, pricing }) => [
    "price variant",
    toPrintable(toConditionWords(when)),
    describePrices(pricing),
  ]);
}

type Coming = AnswerOf<"GET /admin/v1/pricing/schedule">["schedule"][number];

function toComingRows(coming: Coming): readonly (readonly string[])[] {
  const { effective_from: from, model, pricing, price_variants: variants, left_out: leftOut } = coming;
  const place = `from ${from.slice(0, 19)}Z`;
  return [
    ...(pricing === null
      ? []
      : [["price to come", place, toPrintable(`${describePrices(pricing)}, by the name ${model}`)]]),
    ...(variants ?? []).map(({ when, pricing: set }) => [
      "variant to come",
      `${place}, ${toPrintable(toConditionWords(when))}`,
      describePrices(set),
    ]),
    ...(leftOut === undefined
      ? []
      : [
          [
            "left out then",
            place,
            `${toCounted(leftOut, "price")}: remove a price variant of ${toPrintable(model)} before`,
          ],
        ]),
  ];
}

type Kept = Awaited<ReturnType<typeof listPrices>>[number];

async function listPrices(api: Client) {
  return (await api.call("GET /admin/v1/pricing")).entries;
}

/** The first of its own, its target's and its upstream name's, as the lookup goes. */
function describeOrigin(view: ModelView, unit: Unit, entries: readonly Kept[]): string {
  const names = [view.alias, ...(view.target === null ? [] : [view.target]), view.upstream_name];
  for (const name of names) {
    const kept = entries.find((entry) => entry.model === name && entry.unit === unit);
    if (kept === undefined) continue;
    const source = kept.version === null ? "set with the model" : `loaded as ${kept.version}`;
    return name === view.alias ? source : `${source}, by the name ${name}`;
  }
  return "";
}

/** Shows units that have a price or that its requests use: a cache write without a price costs what input costs. */
function isShown({ pricing, capabilities }: ModelView, unit: Unit): boolean {
  if (pricing[unit] !== undefined) return true;
  return isRareUnit(unit)
    ? isPriceMissed({ pricing, capabilities }, unit)
    : isReportUnit(unit) && isUnitUsed({ capabilities }, unit);
}

function toFacts(view: ModelView): readonly (readonly string[])[] {
  return [
    ...(view.target === null ? [] : [["target", toPrintable(view.target), ""]]),
    ["provider", view.provider, ""],
    ["upstream name", toPrintable(view.upstream_name), ""],
    ["capabilities", view.capabilities.join(", ") || "none", ""],
    ["hidden", view.hidden ? "yes, and it serves" : "no", ""],
  ];
}

/** Units that have a column whatever the models; the others have one when a model has a price for them. */
const USUAL_UNITS: ReadonlySet<Unit> = new Set(["input_tokens", "cached_input_tokens", "output_tokens"]);

function writeModels(terminal: Terminal, models: readonly ModelView[]): void {
  const units = UNITS.filter(
    (unit) => USUAL_UNITS.has(unit) || models.some(({ pricing }) => pricing[unit] !== undefined),
  );
  const heading = [
    "ALIAS",
    "LEADS TO",
    "CAPABILITIES",
    ...units.map((unit) => UNIT_TABLE[unit].heading.toUpperCase()),
    "PRICES",
  ];
  const rows = models.map((model) => [
    toPrintable(model.hidden ? `${model.alias} (hidden)` : model.alias),
    toPrintable(model.target === null ? `${model.provider}: ${model.upstream_name}` : `-> ${model.target}`),
    model.capabilities.join(","),
    ...units.map((unit) => (model.pricing[unit] === undefined ? "-" : toPrice(model.pricing[unit], unit))),
    toPriceWord(model),
  ]);
  const right = new Set(units.map((_, index) => index + FIRST_PRICE_COLUMN));
  // Rare units go first, then where prices come from, which model info tells too.
  const rare = units.flatMap((unit, index) => (USUAL_UNITS.has(unit) ? [] : [index + FIRST_PRICE_COLUMN]));
  writeTable(terminal, {
    heading,
    rows,
    right,
    spare: [...rare.toReversed(), heading.length - 1, CAPABILITIES_COLUMN],
  });
}

const CAPABILITIES_COLUMN = 2;
const FIRST_PRICE_COLUMN = 3;

function toPriceWord({ pricing, pricing_inherited: isInherited, target }: ModelView): string {
  if (Object.keys(pricing).length === 0) return "unpriced";
  if (!isInherited) return "own";
  return target === null ? "by upstream name" : "inherited";
}

interface Priced {
  readonly upstream_name: string;
  /** Null for a model that routes by itself. */
  readonly target: string | null;
  readonly alias: string;
  readonly capabilities: readonly Capability[];
  readonly pricing: { readonly [unit in Unit]?: number };
}

const NAMES_SHOWN_MAX = 5;

export interface UnpricedOptions {
  readonly models: readonly Priced[];
  readonly options: InstallationOptions;
}

/** Which of these models have no price, and the commands that give them one; nothing when all have. */
export async function writeUnpriced(
  terminal: Terminal,
  api: Client,
  { models, options }: UnpricedOptions,
): Promise<void> {
  const unpriced = models.flatMap((model) => {
    const units = model.target === null ? findMissedUnits(model) : [];
    return units.length === 0 ? [] : [{ ...model, units }];
  });
  if (unpriced.length === 0) return;
  const names = unpriced.slice(0, NAMES_SHOWN_MAX).map(({ alias }) => toPrintable(alias));
  const more = unpriced.length > names.length ? ` and ${unpriced.length - names.length} more` : "";
  const lines = [
    `${toCounted(unpriced.length, "model")} without a price (${names.join(", ")}${more}): usage is recorded as unpriced.`,
  ];
  const { as_of: asOf, entries } = await api.call("GET /admin/v1/pricing/list");
  const listed = new Set(entries.map(({ model, unit }) => `${unit} ${model}`));
  const isListed = ({ units, upstream_name: name }: (typeof unpriced)[number]) =>
    units.some((unit) => listed.has(`${unit} ${name}`));
  const listedCount = unpriced.filter(isListed).length;
  if (listedCount > 0) {
    const command = formatCommand(["pricing", "load", "--list-prices"], options);
    lines.push(`Public list prices of ${asOf} have ${listedCount} of them: ${command}`);
  }
  const first = unpriced.find((model) => !isListed(model));
  if (first !== undefined) {
    const prices = first.units.flatMap((unit) => ["--price", `${unit}=USD`]);
    lines.push(
      `To set one, per million: ${formatCommand(["model", "set", first.alias, ...prices], options)}`,
    );
  }
  terminal.writeMessage(lines.map((line) => `${line}\n`).join(""));
}
