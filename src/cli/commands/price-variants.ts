import { isJsonObject } from "#kernel/json.ts";
import { type Command, InvalidArgumentError } from "commander";
import { parsePriceVariants } from "#catalog/variant-list.ts";
import { getModel } from "#cli/installation/lists.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { readNumber, readTextInput } from "#cli/input/input.ts";
import { addCommand } from "#cli/input/options.ts";
import type { Flag } from "#cli/routes/flags.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { addExamples } from "#cli/screen/help.ts";
import { toPrice, writeDone, writeJson, writeTable } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { toConditionWords } from "#kernel/price-variants.ts";
import { toCounted } from "#kernel/text.ts";
import { toPrintable } from "#kernel/printable.ts";
import { UNITS, UNIT_TABLE } from "#kernel/units.ts";

/** Conditions as a flag names them; every other key is a unit. */
const CONDITIONS: ReadonlySet<string> = new Set(["tier", "input_over", "geo", "hours"]);

/** One variant, given again for each: all of them are the whole list. */
export const VARIANT: Flag = {
  flags: "--variant <pairs>",
  text: "prices under conditions, such as tier=flex,input_tokens=1.25,output_tokens=5, in place of all that it has; repeatable",
  field: "price_variants",
  isList: true,
  parse: readVariant,
};

export const NO_VARIANTS: Flag = {
  flags: "--no-variants",
  text: "without prices under conditions",
  field: "price_variants",
  value: null,
};

function readVariant(text: string) {
  const when: { [condition: string]: string | number } = {};
  const pricing: { [unit: string]: number } = {};
  for (const pair of text.split(",")) {
    const equals = pair.indexOf("=");
    if (equals < 1)
      throw new InvalidArgumentError(
        "It must be conditions and prices, such as tier=flex,input_tokens=1.25.",
      );
    const [key, value] = [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
    if (!CONDITIONS.has(key)) pricing[key] = readNumber(value);
    else when[key] = key === "input_over" ? readNumber(value) : value;
  }
  return { when, pricing };
}

interface VariantsOptions extends InstallationOptions {
  readonly file?: string;
}

export function addPricingVariantsCommand(pricing: Command, terminal: Terminal): void {
  const command = addCommand(
    pricing,
    "variants <model>",
    "show a model's prices under conditions, or set them from a file",
  )
    .option("--file <path>", "the whole list as JSON (- for stdin), as --json shows it; [] removes it")
    .action(async (alias: string, options: VariantsOptions) => {
      const list = options.file === undefined ? null : readList(await readTextInput(terminal, options.file));
      await withInstallation(terminal, options, async ({ api }) => {
        if (list !== null) {
          const body = { price_variants: [...list] };
          const view = await api.call("PATCH /admin/v1/models/:alias", { params: { alias }, body });
          const count = toCounted(view.price_variants?.length ?? 0, "price variant");
          writeDone(terminal, options, { view, sentence: `model ${toPrintable(alias)}: ${count}` });
          return;
        }
        const { price_variants: variants = [] } = await getModel(api, alias);
        if (options.json === true) {
          writeJson(terminal, variants);
          return;
        }
        if (variants.length === 0) {
          terminal.writeMessage(`${toPrintable(alias)} has no prices under conditions\n`);
          return;
        }
        const units = UNITS.filter((unit) => variants.some((variant) => variant.pricing[unit] !== undefined));
        writeTable(terminal, {
          heading: ["WHEN", ...units.map((unit) => UNIT_TABLE[unit].heading.toUpperCase())],
          rows: variants.map(({ when, pricing: prices }) =>
            [toPrintable(toConditionWords(when))].concat(
              units.map((unit) => (prices[unit] === undefined ? "-" : toPrice(prices[unit], unit))),
            ),
          ),
          right: new Set(units.map((_, index) => index + 1)),
          spare: [],
        });
      });
    });
  command.addHelpText(
    "after",
    `
Conditions are the tier and the geo that an answer tells, input_over (tokens of
the whole input), and hours in UTC. Of the variants whose conditions all hold,
the one with the most prices the whole request. A request of a tier or a geo
that no variant names has no price.`,
  );
  addExamples(command, [
    "lockport pricing variants gpt-5",
    "lockport pricing variants gpt-5 --json > variants.json",
    "lockport pricing variants gpt-5 --file variants.json",
  ]);
}

/** Throws a `CommandError`, and what the catalog's own rules throw. */
function readList(text: string): readonly unknown[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new CommandError(
      "failure",
      "The list is not JSON: lockport pricing variants MODEL --json shows one.",
    );
  }
  const list = isJsonObject(parsed) ? parsed["price_variants"] : parsed;
  if (!Array.isArray(list)) throw new CommandError("failure", "The list must be a JSON array of variants.");
  const variants: readonly unknown[] = list;
  parsePriceVariants(variants);
  return variants;
}
