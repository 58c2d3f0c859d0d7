import type { Command } from "commander";
import { ENDPOINTS, isEndpoint } from "#catalog/capability.ts";
import { requireCapability, resolveModel, upstreamUrl } from "#catalog/resolve.ts";
import type { CatalogSnapshot, ResolvedModel } from "#catalog/snapshot.ts";
import { formatInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { toPricePerMillion, UNITS, type PriceSet } from "#kernel/units.ts";
import { addLocalCommand, withLocal, writeJson, writeList, type LocalOptions } from "./command.ts";
import { collectNumbers, collectTexts } from "./input.ts";
import type { Terminal } from "./terminal.ts";

interface ListOptions extends LocalOptions {
  readonly provider?: string;
}

interface AddOptions extends LocalOptions {
  readonly provider?: string;
  readonly upstreamName?: string;
  readonly target?: string;
  readonly capability?: readonly string[];
  readonly price?: { readonly [unit: string]: number };
  readonly hidden?: true;
}

interface ResolveOptions extends LocalOptions {
  readonly endpoint: string;
  readonly stream?: true;
}

export function addModelCommands(program: Command, terminal: Terminal): void {
  const model = program.command("model").description("the catalog of public aliases");

  addLocalCommand(model, "list", "list models")
    .option("--provider <name>", "only this provider's")
    .action((options: ListOptions) =>
      withLocal(terminal, options, async ({ catalog }) => {
        const snapshot = await catalog.snapshot();
        const views = snapshot.models
          .filter(({ provider }) => options.provider === undefined || provider.name === options.provider)
          .map((resolved) => toModelView(resolved, snapshot));
        writeList(terminal, options, {
          views,
          columns: ["alias", "provider", "upstream_name", "target", "capabilities", "pricing", "hidden"],
        });
      }),
    );

  addLocalCommand(
    model,
    "add [alias]",
    "bind an alias to a provider's model, or make it a name for another model",
  )
    .option("--provider <name>", "the provider that serves it")
    .option("--upstream-name <name>", "what the provider calls it")
    .option("--target <alias>", "the model that this alias is a name for")
    .option("--capability <capability>", "default: chat and chat_stream; repeatable", collectTexts)
    .option("--price <unit=price>", "price per million, such as input_tokens=2.5; repeatable", collectNumbers)
    .option("--hidden", "keep it off the public list")
    .action((alias: string | undefined, options: AddOptions) =>
      withLocal(terminal, options, async ({ catalog }) => {
        const draft = {
          alias,
          provider: options.provider,
          upstreamName: options.upstreamName,
          target: options.target,
          capabilities: options.capability,
          pricing: options.price,
          hidden: options.hidden,
        };
        const created = await catalog.createModel(draft, null);
        if (options.json === true) writeJson(terminal, toModelView(created, await catalog.snapshot()));
        else terminal.writeMessage(`added model ${created.model.alias}\n`);
      }),
    );

  addLocalCommand(model, "resolve <alias>", "show what a request for this alias would call")
    .option("--endpoint <endpoint>", `one of ${ENDPOINTS.join(", ")}`, "chat")
    .option("--stream", "as for a streamed request")
    .action((alias: string, options: ResolveOptions) =>
      withLocal(terminal, options, async ({ catalog }) => {
        const view = toResolveView(resolveModel(await catalog.snapshot(), alias), options);
        if (options.json === true) writeJson(terminal, view);
        else
          for (const [field, value] of Object.entries(view))
            terminal.writeData(`${field}: ${String(value)}\n`);
      }),
    );
}

function toResolveView(resolved: ResolvedModel, options: ResolveOptions) {
  if (!isEndpoint(options.endpoint)) {
    throw new ProxyError("invalid_endpoint", `The endpoint is one of ${ENDPOINTS.join(", ")}.`, {
      param: "endpoint",
    });
  }
  requireCapability(resolved, options.endpoint, options.stream === true);
  return {
    alias: resolved.model.alias,
    provider: resolved.provider.name,
    upstream_name: resolved.upstreamName,
    url: upstreamUrl(resolved.provider, options.endpoint),
    capabilities: resolved.capabilities,
  };
}

function toModelView(resolved: ResolvedModel, snapshot: CatalogSnapshot) {
  const { model } = resolved;
  return {
    alias: model.alias,
    provider: resolved.provider.name,
    upstream_name: resolved.upstreamName,
    capabilities: resolved.capabilities,
    origin: model.origin,
    created_at: formatInstant(model.createdAtUs),
    target:
      model.route.kind === "name"
        ? (snapshot.findModelById(model.route.targetId)?.model.alias ?? null)
        : null,
    pricing: toPricingView(resolved.prices),
    pricing_inherited: resolved.pricesInherited,
    hidden: model.hidden,
  };
}

function toPricingView(prices: PriceSet) {
  const priced = UNITS.flatMap((unit) => {
    const pico = prices[unit];
    return typeof pico === "number" ? [[unit, toPricePerMillion(pico)] as const] : [];
  });
  return Object.fromEntries(priced);
}
