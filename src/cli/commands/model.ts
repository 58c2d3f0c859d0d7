import { isJsonObject } from "#kernel/json.ts";
import type { Command } from "commander";
import { CAPABILITIES } from "#catalog/capability.ts";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { parseAlias, type ModelDraft } from "#catalog/model.ts";
import { parseDraftRoute } from "#catalog/model-plan.ts";
import { parsePricing } from "#catalog/price-plan.ts";
import { parseEffectiveFrom } from "#catalog/scheduled-prices.ts";
import { parsePriceVariants } from "#catalog/variant-list.ts";
import { readBy } from "#cli/input/report.ts";
import { NO_VARIANTS, VARIANT } from "#cli/commands/price-variants.ts";
import { describeVariants } from "#interchange/catalog-text.ts";
import { isUnit, UNITS } from "#kernel/units.ts";
import { typed, toText, type Flag } from "#cli/routes/flags.ts";
import { addPresets, type Made, type RouteCommand, type Said } from "#cli/routes/route-command.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { addModelListCommands } from "#cli/commands/model-list.ts";
import { toPrintable } from "#kernel/printable.ts";
import { withinLimit } from "#kernel/timer.ts";
import { formatCommand } from "#cli/screen/typed-command.ts";
import { type Client, type Installation, type Json } from "#cli/installation/client.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";
import { suggest, CommandError } from "#cli/screen/failure.ts";
import { getModel } from "#cli/installation/lists.ts";
import { toPrice } from "#cli/screen/output.ts";

export function addCommands(program: Command, terminal: Terminal, made: Made): void {
  const model = program.command("model").description("the catalog of public aliases");

  addModelListCommands(model, terminal);

  addPresets(program, { ...made, terminal, presets: PRESETS });
}

const PROVIDER: Flag = { flags: "--provider <name>", text: "the provider that serves it", field: "provider" };
const UPSTREAM_NAME: Flag = {
  flags: "--upstream-name <name>",
  text: "what the provider calls it",
  field: "upstream_name",
};
const PRICE: Flag = {
  flags: "--price <unit=price>",
  text: `price per million of ${UNITS.join(", ")}, such as input_tokens=2.5; repeatable`,
  field: "pricing",
  pairs: { keys: UNITS, areNumbers: true },
};
const HIDDEN: Flag = {
  flags: "--hidden",
  text: "keep it off the public list",
  field: "hidden",
  value: true,
};
/** Joined with the capabilities that a model has. */
const ADDED_CAPABILITIES = "added_capabilities";
/** The flags of a binding and of a name for another model alike. */
const NAME_FLAGS: readonly Flag[] = [PRICE, VARIANT, HIDDEN];

/** A moment itself: one that is told by how long ago it was would be another one for each who reads it. */
const readMoment = (text: string) => readBy(() => parseEffectiveFrom(text, "effective_from"), text);

function checkDraft({ fields }: Said): void {
  const { upstream_name: upstreamName, price_variants: priceVariants, ...others } = fields;
  const draft: ModelDraft = typed({ ...others, upstreamName, priceVariants });
  parseDraftRoute(draft);
  parsePricing(draft.pricing ?? {});
  parsePriceVariants(draft.priceVariants ?? null);
}

const PRESETS: readonly RouteCommand[] = [
  {
    route: "POST /admin/v1/models",
    usage: "model add [alias]",
    about: "bind an alias to a provider's model; without an alias it serves under its upstream name",
    flags: [
      PROVIDER,
      UPSTREAM_NAME,
      {
        flags: "--target <alias>",
        text: "the model that this alias is a name for, in place of the two above",
        field: "target",
        conflicts: ["provider", "upstreamName", "capability"],
      },
      {
        flags: "--capability <capability>",
        text: "default: chat and chat_stream; repeatable",
        field: "capabilities",
        choices: CAPABILITIES,
        isList: true,
      },
      ...NAME_FLAGS,
    ],
    toFields: ({ alias }) => (alias === undefined ? {} : { alias }),
    check: checkDraft,
    done: ({ view }) => `added model ${String(view["alias"])}`,
    after: async ({ terminal, installation, options, fields, view }) => {
      if (fields["target"] === undefined)
        await writeUnlisted(terminal, installation.api, { model: typed(view), options });
    },
    examples: [
      "lockport model add fast --provider openai --upstream-name gpt-5-mini",
      "lockport model add embed --provider vllm --upstream-name bge-m3 --capability embeddings",
      "lockport model add big --provider openai --upstream-name gpt-5 --price input_tokens=1.25 --price output_tokens=10",
    ],
  },
  {
    route: "POST /admin/v1/models",
    usage: "model alias <name> <target>",
    about: "make a name for another model",
    flags: NAME_FLAGS,
    toFields: ({ name, target }) => ({ alias: name, target }),
    check: checkDraft,
    done: "made {name} a name for {target}",
    examples: ["lockport model alias default fast"],
  },
  {
    route: "PATCH /admin/v1/models/:alias",
    usage: "model set <alias>",
    about: "change what is said here, and leave the rest",
    flags: [
      {
        flags: "--alias <new-alias>",
        text: "another name; prices follow, and names for it keep pointing at it",
        field: "alias",
      },
      PROVIDER,
      UPSTREAM_NAME,
      { flags: "--target <alias>", text: "make it a name for this model", field: "target" },
      {
        flags: "--no-target",
        text: "route by itself again; needs --provider and --upstream-name",
        field: "target",
        value: "",
      },
      {
        flags: "--capability <capability>",
        text: "in place of all that it has; repeatable",
        field: "capabilities",
        choices: CAPABILITIES,
        isList: true,
      },
      {
        flags: "--add-capability <capability>",
        text: "beside those that it has; repeatable",
        field: ADDED_CAPABILITIES,
        choices: CAPABILITIES,
        isList: true,
        conflicts: ["capability"],
      },
      { ...PRICE, text: PRICE.text.replace("; repeatable", ", or none; repeatable") },
      VARIANT,
      NO_VARIANTS,
      {
        flags: "--effective-from <instant>",
        text: "the prices hold from this moment, to come or past; in UTC",
        field: "effective_from",
        parse: readMoment,
      },
      HIDDEN,
      { flags: "--no-hidden", text: "put it on the public list", field: "hidden", value: false },
    ],
    check: checkChange,
    before: ({ api }, { alias = "" }) => getModel(api, alias),
    ask: changeModel,
    done: ({ named, before, view, fields }) =>
      `model ${named["alias"]}: ${describeChange(typed<ModelView>(before), typed<ModelView>(view), fields)}`,
    after({ terminal, before, view, fields }) {
      if (fields["pricing"] === undefined || view["target"] !== null) return;
      if (before["pricing_inherited"] !== true || view["pricing_inherited"] === true) return;
      terminal.writeMessage(
        `${toPrintable(String(view["alias"]))} has prices of its own now, all of them: a feed changes them by that name only.\n`,
      );
    },
    help: `A price that is not named stays; none takes one away, and usage of that unit is then unpriced. A name for another
model takes a price that is none from its target again. Prices apply from the next request on.`,
    examples: [
      "lockport model set fast --price input_tokens=0.15 --price cached_input_tokens=0.075",
      "lockport model set gpt-5 --variant tier=flex,input_tokens=0.625,output_tokens=5",
      "lockport model set fast --provider vllm --upstream-name llama-3.3-70b",
      "lockport model set embed --capability embeddings",
      "lockport model set fast --add-capability responses",
      "lockport model set default --target fast",
      "lockport model set fast --hidden",
    ],
  },
  ...[true, false].map((hidden): RouteCommand => {
    const verb = hidden ? "hide" : "show";
    return {
      route: "PATCH /admin/v1/models/:alias",
      usage: `model ${verb} <alias>`,
      about: hidden ? "keep it off the public list; it still serves" : "put it on the public list again",
      flags: [],
      toFields: () => ({ hidden }),
      done: `{alias} is ${hidden ? "hidden" : "shown"}`,
      examples: [`lockport model ${verb} fast`],
    };
  }),
  {
    route: "PATCH /admin/v1/models/:alias",
    usage: "model rename <alias> <new-alias>",
    about: "give it another name; prices follow, and names for it keep pointing at it",
    flags: [],
    toFields: (named) => ({ alias: named["new-alias"] }),
    check: ({ fields }) => parseAlias(String(fields["alias"])),
    done: ({ named }) => `renamed ${named["alias"]} to ${named["new-alias"]}`,
    examples: ["lockport model rename fast small"],
  },
  {
    route: "DELETE /admin/v1/models/:alias",
    usage: "model remove <alias>",
    about: "remove a model; its usage stays",
    used: "model",
    done: "removed model {alias}",
    examples: ["lockport model remove fast", "lockport model remove fast --yes"],
  },
  {
    route: "GET /admin/v1/resolve",
    usage: "model resolve <alias>",
    about: "show what a request for this alias would call",
    flags: [
      {
        flags: "--endpoint <endpoint>",
        text: "that is called",
        field: "endpoint",
        choices: ENDPOINTS,
        standard: "chat",
      },
      { flags: "--stream", text: "as for a streamed request", field: "stream", value: "true" },
    ],
    defaults: { stream: "false" },
    toFields: ({ alias }) => ({ model: alias }),
    examples: ["lockport model resolve fast", "lockport model resolve embed --endpoint embeddings"],
  },
];

type ModelView = Awaited<ReturnType<typeof getModel>>;

function checkChange({ fields }: Said): void {
  const { alias, provider, upstream_name: upstreamName, target, pricing, price_variants: variants } = fields;
  const isBinding = [provider, upstreamName, fields["capabilities"], fields[ADDED_CAPABILITIES]].some(
    (value) => value !== undefined,
  );
  if (toText(target) !== undefined && target !== "" && isBinding) {
    throw new CommandError(
      "usage",
      "--target goes without --provider, --upstream-name and capabilities: a name has its target's.",
    );
  }
  if (target === "" && (provider === undefined || upstreamName === undefined)) {
    throw new CommandError(
      "usage",
      "--no-target needs --provider and --upstream-name: what it routes to then.",
    );
  }
  const name = toText(alias);
  if (name !== undefined) parseAlias(name);
  parsePricing(typed<Prices>(isJsonObject(pricing) ? pricing : {}));
  parsePriceVariants(Array.isArray(variants) ? variants : null);
}

type Prices = { readonly [unit: string]: number | null };

/**
 * A write of capabilities or prices is the complete set. Prices are of a binding all that are in force, since a unit left out
 * would have none; of a name for another model those that it overrides.
 */
async function changeModel(installation: Installation, { fields, named }: Said, before: Json): Promise<Json> {
  const { api } = installation;
  const { alias, capabilities, pricing: inForce } = typed<ModelView>(before);
  const { pricing, ...unpriced } = fields;
  if (isJsonObject(pricing) && fields["effective_from"] !== undefined && isEachPriced(pricing)) {
    await setDatedPrices(api, alias, { pricing, from: fields["effective_from"] });
    const { effective_from: _, ...undated } = unpriced;
    const left = fields["price_variants"] === undefined ? undated : unpriced;
    if (Object.keys(left).length === 0) return await getModel(api, alias);
    return await changeModel(installation, { fields: left, named }, before);
  }
  const { [ADDED_CAPABILITIES]: added, target = before["target"], ...others } = unpriced;
  const more: readonly unknown[] = Array.isArray(added) ? added : [];
  const isName = target !== null && target !== "";
  const kept = pricing !== undefined && isName ? await findOwnPrices(api, alias) : inForce;
  const body = {
    ...others,
    ...(fields["target"] !== undefined && { target }),
    ...(more.length > 0 && { capabilities: [...new Set([...capabilities, ...more])] }),
    ...(isJsonObject(pricing) && { pricing: { ...kept, ...pricing } }),
  };
  const route = "PATCH /admin/v1/models/:alias";
  return (await api.ask(route, { params: { alias: named["alias"] ?? "" }, body })).data;
}

/** What takes a price away is no line of a feed. */
function isEachPriced(pricing: Json): boolean {
  return Object.values(pricing).every((price) => price !== null);
}

/**
 * As lines of a feed: a complete set would give the other units the prices of now from that moment on, where they had, or are to
 * have, others.
 */
async function setDatedPrices(
  api: Client,
  model: string,
  { pricing, from }: { readonly pricing: Json; readonly from: unknown },
): Promise<void> {
  const entries = Object.entries(pricing).map(([unit, price]) => ({
    model,
    unit,
    price_per_million: price,
    effective_from: from,
  }));
  await api.ask("POST /admin/v1/pricing", { body: { version: "by hand", entries } });
}

async function findOwnPrices(api: Client, alias: string): Promise<Prices> {
  const { entries } = await api.call("GET /admin/v1/pricing");
  const own = entries.filter(({ model }) => model === alias);
  return Object.fromEntries(own.map(({ unit, price_per_million: price }) => [unit, price]));
}

const VARIANTS = "price variants";

/** `provider openai -> vllm, input_tokens $2.50 -> $3.00`; with a date `input_tokens $3.00 from 2027-01-01`. */
function describeChange(before: ModelView, after: ModelView, said: Said["fields"]): string {
  const { effective_from: from, pricing, price_variants: variants } = said;
  const dated = new Map(
    from === undefined
      ? []
      : [
          ...Object.entries(typed<Prices>(isJsonObject(pricing) ? pricing : {})).map(
            ([unit, price]) => [unit, isUnit(unit) ? toPrice(price ?? undefined, unit) : ""] as const,
          ),
          ...(Array.isArray(variants)
            ? [[VARIANTS, variants.length === 0 ? "none" : "changed"] as const]
            : []),
        ],
  );
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
    [VARIANTS, describeVariants(before.price_variants ?? []), describeVariants(after.price_variants ?? [])],
    ["hidden", before.hidden ? "yes" : "no", after.hidden ? "yes" : "no"],
  ];
  const changed = [
    ...fields.flatMap(([name, was, is]) =>
      was === is || dated.has(name) ? [] : [`${name} ${was} -> ${is}`],
    ),
    ...[...dated].map(([name, is]) => `${name} ${is} from ${toPrintable(String(from))}`),
  ];
  return changed.length === 0 ? "is so already" : changed.join(", ");
}

/** Limit of a done command's wait for the provider's list of models. */
const LIST_MS_MAX = 2_000;

interface Bound {
  readonly provider: string;
  readonly upstream_name: string;
}

/**
 * Says on stderr when the provider does not list this upstream model: a misspelled one fails at its first request. Says nothing
 * where the provider has no list, or does not answer within `LIST_MS_MAX`.
 */
async function writeUnlisted(
  terminal: Terminal,
  api: Client,
  { model, options }: { readonly model: Bound; readonly options: InstallationOptions },
): Promise<void> {
  const { provider, upstream_name: name } = model;
  const asked = api.call("GET /admin/v1/providers/:name/discover", { params: { name: provider }, query: {} });
  const found = await withinLimit(
    asked.catch(() => null),
    LIST_MS_MAX,
    () => null,
  );
  const names = found?.models.map((each) => each.upstream_name) ?? [];
  if (names.length === 0 || names.includes(name)) return;
  const command = formatCommand(["provider", "discover", provider], options);
  terminal.writeMessage(
    `${provider} does not list ${toPrintable(name)}: requests to it may fail. To see what it lists: ${command}${suggest(name, names)}\n`,
  );
}
