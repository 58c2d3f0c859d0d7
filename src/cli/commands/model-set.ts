import type { Command } from "commander";
import { CAPABILITIES } from "#catalog/capability.ts";
import { parseAlias } from "#catalog/model-draft.ts";
import { parsePricing } from "#catalog/price-plan.ts";
import { toPrintable } from "#kernel/printable.ts";
import { UNITS, type Unit } from "#kernel/units.ts";
import { collectPrices } from "#cli/input/input.ts";
import { addCommand, choicesOption, pairsOption } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { given, type Client } from "#cli/installation/client.ts";
import { getModel } from "#cli/installation/lists.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { checkTyped, CommandError } from "#cli/screen/failure.ts";
import { toPrice, writeDone } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

interface SetOptions extends InstallationOptions {
  readonly alias?: string;
  readonly provider?: string;
  readonly upstreamName?: string;
  /** False with `--no-target`. */
  readonly target?: string | false;
  /** In place of all that it has. */
  readonly capability?: readonly string[];
  /** Beside those that it has. */
  readonly addCapability?: readonly string[];
  /** Per million; null takes the price away. */
  readonly price?: { readonly [unit: string]: number | null };
  readonly hidden?: boolean;
}

type ModelView = Awaited<ReturnType<typeof getModel>>;

/** `model set`: changes the fields that are said, and shows what they were and are. */
export function addModelSetCommand(model: Command, terminal: Terminal): void {
  const set = addCommand(model, "set <alias>", "change what is said here, and leave the rest")
    .option("--alias <new-alias>", "another name; prices follow, and names for it keep pointing at it")
    .option("--provider <name>", "the provider that serves it")
    .option("--upstream-name <name>", "what the provider calls it")
    .option("--target <alias>", "make it a name for this model")
    .option("--no-target", "route by itself again; needs --provider and --upstream-name")
    .addOption(
      choicesOption("--capability <capability>", "in place of all that it has; repeatable", CAPABILITIES),
    )
    .addOption(
      choicesOption(
        "--add-capability <capability>",
        "beside those that it has; repeatable",
        CAPABILITIES,
      ).conflicts("capability"),
    )
    .addOption(
      pairsOption({
        flags: "--price <unit=price>",
        description: `price per million of ${UNITS.join(", ")}, such as input_tokens=2.5, or none; repeatable`,
        keys: UNITS,
        collect: collectPrices,
      }),
    )
    .option("--hidden", "keep it off the public list")
    .option("--no-hidden", "put it on the public list")
    .action((alias: string, options: SetOptions) => {
      checkSaid(options);
      return withInstallation(terminal, options, async ({ api }) => {
        const before = await getModel(api, alias);
        const patch = await toPatch(api, before, options);
        const after = await api.call("PATCH /admin/v1/models/:alias", { params: { alias }, body: patch });
        writeDone(terminal, options, { view: after, sentence: `model ${alias}: ${describe(before, after)}` });
        if (options.json === true || options.price === undefined) return;
        if (!before.pricing_inherited || after.pricing_inherited || after.target !== null) return;
        terminal.writeMessage(
          `${toPrintable(after.alias)} has prices of its own now, all of them: a feed changes them by that name only.\n`,
        );
      });
    });
  set.addHelpText(
    "after",
    `
A price that is not named stays; none takes one away, and usage of that unit is then unpriced. A name for another
model takes a price that is none from its target again. Prices apply from the next request on.`,
  );
  addExamples(set, [
    "lockport model set fast --price input_tokens=0.15 --price cached_input_tokens=0.075",
    "lockport model set fast --provider vllm --upstream-name llama-3.3-70b",
    "lockport model set embed --capability embeddings",
    "lockport model set fast --add-capability responses",
    "lockport model set default --target fast",
    "lockport model set fast --hidden",
  ]);
}

function checkSaid(options: SetOptions): void {
  const { alias, provider, upstreamName, target, price, hidden } = options;
  const capability = options.capability ?? options.addCapability;
  const said = [alias, provider, upstreamName, target, capability, price, hidden];
  if (said.every((value) => value === undefined)) {
    throw new CommandError("usage", "Say what to change: lockport model set --help lists what can be.");
  }
  const isBinding = provider !== undefined || upstreamName !== undefined || capability !== undefined;
  if (typeof target === "string" && isBinding) {
    throw new CommandError(
      "usage",
      "--target goes without --provider, --upstream-name and capabilities: a name has its target's.",
    );
  }
  if (target === false && (provider === undefined || upstreamName === undefined)) {
    throw new CommandError(
      "usage",
      "--no-target needs --provider and --upstream-name: what it routes to then.",
    );
  }
  checkTyped(() => [alias !== undefined && parseAlias(alias), parsePricing(price ?? {})]);
}

async function toPatch(api: Client, before: ModelView, options: SetOptions) {
  const { alias, provider, upstreamName, target, capability, addCapability, price, hidden } = options;
  const capabilities =
    addCapability === undefined ? capability : [...new Set([...before.capabilities, ...addCapability])];
  return given({
    alias,
    provider,
    upstream_name: upstreamName,
    target: target === false ? "" : target,
    capabilities,
    pricing: price === undefined ? undefined : await toPricing(api, before, { price, target }),
    hidden,
  });
}

/**
 * A write of prices is the complete set: of a binding all that are in force, since a unit left out would have none; of a name
 * for another model those that it overrides.
 */
async function toPricing(
  api: Client,
  before: ModelView,
  {
    price,
    target,
  }: { readonly price: NonNullable<SetOptions["price"]>; readonly target: SetOptions["target"] },
) {
  const isName = target === undefined ? before.target !== null : target !== false;
  const kept = isName ? await findOwnPrices(api, before.alias) : before.pricing;
  return { ...kept, ...price };
}

async function findOwnPrices(api: Client, alias: string): Promise<{ [unit in Unit]?: number }> {
  const { entries } = await api.call("GET /admin/v1/pricing");
  const own = entries.filter(({ model }) => model === alias);
  return Object.fromEntries(own.map(({ unit, price_per_million: price }) => [unit, price]));
}

/** `provider openai -> vllm, input_tokens $2.50 -> $3.00`. */
function describe(before: ModelView, after: ModelView): string {
  const show = (value: string | null) => (value === null ? "none" : toPrintable(value));
  const fields: readonly (readonly [name: string, was: string, is: string])[] = [
    ["alias", before.alias, after.alias],
    ["target", show(before.target), show(after.target)],
    ["provider", before.provider, after.provider],
    ["upstream name", show(before.upstream_name), show(after.upstream_name)],
    ["capabilities", before.capabilities.join(","), after.capabilities.join(",")],
    ...UNITS.map(
      (unit) => [unit, toPrice(before.pricing[unit], unit), toPrice(after.pricing[unit], unit)] as const,
    ),
    ["hidden", before.hidden ? "yes" : "no", after.hidden ? "yes" : "no"],
  ];
  const changed = fields.filter(([, was, is]) => was !== is);
  return changed.length === 0
    ? "is so already"
    : changed.map(([name, was, is]) => `${name} ${was} -> ${is}`).join(", ");
}
