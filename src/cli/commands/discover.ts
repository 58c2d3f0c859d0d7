import type { Command } from "commander";
import {
  isServable,
  type CapabilityGuess,
  type ModelKind,
  CAPABILITIES_DEFAULT,
  type Capability,
  CAPABILITIES,
} from "#catalog/capability.ts";
import { toPrintable } from "#kernel/printable.ts";
import { suggest, CommandError, toFailure } from "#cli/screen/failure.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { formatCommand } from "#cli/screen/typed-command.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { collectTexts } from "#cli/input/input.ts";
import { writeList } from "#cli/screen/output.ts";
import { withProgress } from "#cli/screen/progress.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { listModels } from "#cli/installation/lists.ts";
import { writeUnpriced } from "#cli/commands/model-list.ts";
import { given, type Client } from "#cli/installation/client.ts";

interface DiscoverOptions extends InstallationOptions {
  readonly bind?: true;
  readonly model?: readonly string[];
  readonly capability?: readonly string[];
  readonly hidden?: true;
}

export function addDiscoverCommand(provider: Command, terminal: Terminal): void {
  const command = addCommand(provider, "discover <name>", "ask a provider which models it has")
    .option("--bind", "bind what is not bound yet, each under its upstream name")
    .option("--model <upstream-name>", "only this one; repeatable", collectTexts)
    .option(
      "--capability <[model=]capability>",
      "in place of what is guessed, of one model or of all that are bound; repeatable",
      collectTexts,
    )
    .option("--hidden", "keep what is bound off the public list")
    .action((name: string, options: DiscoverOptions) => {
      refuseUnbound(options);
      const chosen = parseCapabilityChoices(options.capability ?? []);
      return withInstallation(terminal, options, async ({ api }) => {
        const discovered = await withProgress(terminal, `asking ${name}, for at most 30 s`, () =>
          api
            .call("GET /admin/v1/providers/:name/discover", {
              params: { name },
              query: { include_capabilities: "1" },
            })
            .catch((cause: unknown) => {
              throw toDiscoveryFailure(cause, name, options);
            }),
        );
        const bound = new Map(
          (await listModels(api, { provider: name })).map((model) => [model.alias, model.capabilities]),
        );
        const all = discovered.models.map((model): Discovered => {
          const { upstream_name, bound_alias, kind = "chat", guessed_from = "default" } = model;
          const capabilities = bound.get(bound_alias ?? "") ?? model.capabilities ?? [];
          return { upstream_name, bound_alias, kind, capabilities, guessed_from };
        });
        const found = chooseModels(all, options.model);
        chooseModels(all, [...chosen.byModel.keys()]);
        if (options.bind !== true) {
          writeList(terminal, options, {
            views: found,
            columns: COLUMNS,
          });
          if (options.json !== true) writeNotServed(terminal, found, "would not be bound by --bind");
          return;
        }
        const isNamed = (row: Discovered) =>
          options.model !== undefined || chosen.byModel.has(row.upstream_name);
        const wanted = found.filter((row) => row.bound_alias === null && (isServable(row) || isNamed(row)));
        const { rows, made } = await withProgress(terminal, `binding models of ${name}`, () =>
          bindAll(api, { provider: name, found, wanted, chosen, hidden: options.hidden }),
        );
        writeList(terminal, options, { views: rows, columns: [...COLUMNS, "failure"] });
        if (options.json !== true) {
          writeNotServed(
            terminal,
            found.filter((row) => !wanted.includes(row)),
            "were not bound",
          );
          await writeUnpriced(terminal, api, { models: made, options });
        }
        const failed = rows.filter(({ failure }) => failure !== null).length;
        if (failed > 0) throw new CommandError("failure", `${failed} of ${rows.length} could not be bound.`);
      });
    });
  command.addHelpText(
    "after",
    `
Kind and capabilities are guessed from what the provider says of a model, else from its name; a model that is bound
shows its own, and keeps them: lockport model set NAME --add-capability CAPABILITY. Models for which there is no
endpoint here (realtime, video, …) are bound only when --model or --capability names them.`,
  );
  addExamples(command, [
    "lockport provider discover openai",
    "lockport provider discover openai --bind --model gpt-5 --model gpt-5-mini",
    "lockport provider discover vllm --bind --capability my-embedder=embeddings",
  ]);
}

const COLUMNS = ["upstream_name", "kind", "capabilities", "bound_alias"] as const;

/** Tells a refused key from a provider without a list: only the interface's sentence holds the status. */
const REFUSED_KEY = /\bstatus 40[13]\b/;

function toDiscoveryFailure(cause: unknown, name: string, options: DiscoverOptions): unknown {
  const { kind, sentence } = toFailure(cause);
  if (kind !== "failure" || !REFUSED_KEY.test(sentence)) return cause;
  const command = formatCommand(["provider", "set", name, "--api-key-file", "PATH"], options);
  return new CommandError(
    kind,
    `${sentence} It refuses the API key, or wants one. To set another: ${command}`,
  );
}

/** Refuses options that only say how to bind, which would be passed over in silence. */
function refuseUnbound(options: DiscoverOptions): void {
  if (options.bind === true || (options.capability === undefined && options.hidden === undefined)) return;
  const flag = options.hidden === undefined ? "--capability" : "--hidden";
  throw new CommandError("usage", `${flag} is for what is bound: add --bind, or leave it out.`);
}

function chooseModels(
  models: readonly Discovered[],
  wanted: readonly string[] | undefined,
): readonly Discovered[] {
  if (wanted === undefined) return models;
  const names = models.map((model) => model.upstream_name);
  const missing = wanted.find((name) => !names.includes(name));
  if (missing === undefined) return models.filter((model) => wanted.includes(model.upstream_name));
  const hint = suggest(missing, names);
  throw new CommandError("failure", `The provider has no model ${toPrintable(missing)}.${hint}`);
}

function writeNotServed(terminal: Terminal, rows: readonly Discovered[], what: string): void {
  const left = rows.filter((row) => row.bound_alias === null && !isServable(row));
  if (left.length === 0) return;
  const kinds = [...new Set(left.map(({ kind }) => kind))].toSorted().join(", ");
  const count = left.length === 1 ? "1 model" : `${left.length} models`;
  terminal.writeMessage(
    `${count} for which there is no endpoint here (${kinds}) ${what}. To bind one in spite of that: --bind --model NAME\n`,
  );
}

interface Discovered {
  readonly upstream_name: string;
  readonly bound_alias: string | null;
  readonly kind: ModelKind;
  /** Those that a bound model has, or that an unbound one would get; empty where no endpoint serves it. */
  readonly capabilities: readonly Capability[];
  readonly guessed_from: CapabilityGuess["from"];
}

/** A discovered model, and what became of it. */
interface Row extends Discovered {
  /** Null unless it was to be bound now and could not be. */
  readonly failure: string | null;
}

interface Binding {
  readonly provider: string;
  /** All that are shown. */
  readonly found: readonly Discovered[];
  /** Those of them that are to be bound. */
  readonly wanted: readonly Discovered[];
  readonly chosen: ChosenCapabilities;
  readonly hidden: true | undefined;
}

type BoundModel = Awaited<ReturnType<typeof create>>;

/** One after the other; one that is refused, as when its name is taken, keeps none of the others from being bound. */
async function bindAll(api: Client, { found, wanted, ...binding }: Binding) {
  const rows: Row[] = [];
  const made: BoundModel[] = [];
  for (const model of found) {
    const row: Row = { ...model, failure: null };
    if (!wanted.includes(model)) {
      rows.push(row);
      continue;
    }
    try {
      const view = await create(api, model, binding);
      made.push(view);
      rows.push({ ...row, bound_alias: view.alias, capabilities: view.capabilities });
    } catch (cause) {
      if (!(cause instanceof CommandError) || cause.kind !== "failure") throw cause;
      rows.push({ ...row, failure: cause.message });
    }
  }
  return { rows, made };
}

function create(
  api: Client,
  row: Discovered,
  { provider, chosen, hidden }: Omit<Binding, "found" | "wanted">,
) {
  const guessed = row.capabilities.length === 0 ? CAPABILITIES_DEFAULT : row.capabilities;
  const capabilities = chosen.byModel.get(row.upstream_name) ?? chosen.all ?? guessed;
  return api.call("POST /admin/v1/models", {
    body: given({ provider, upstream_name: row.upstream_name, capabilities, hidden, origin: "discovered" }),
  });
}

/** Values of `--capability`: for all models, and for single ones by upstream name, which comes before. */
interface ChosenCapabilities {
  /** Undefined: as each model is guessed. */
  readonly all: readonly Capability[] | undefined;
  readonly byModel: ReadonlyMap<string, readonly Capability[]>;
}

/**
 * Values of `--capability`, each `embeddings` or `NAME=embeddings`; several capabilities stand with commas, or are given one
 * after the other. A name ends at the last equals sign. Throws a `CommandError` for a word that is no capability.
 */
function parseCapabilityChoices(texts: readonly string[]): ChosenCapabilities {
  let all: readonly Capability[] | undefined;
  const byModel = new Map<string, readonly Capability[]>();
  for (const text of texts) {
    const equals = text.lastIndexOf("=");
    const capabilities = text
      .slice(equals + 1)
      .split(",")
      .map((word) => parseCapability(word.trim()));
    const name = text.slice(0, Math.max(0, equals)).trim();
    if (equals < 0) all = [...(all ?? []), ...capabilities];
    else if (name === "") throw refuse("What stands before the equals sign is a model of the provider.");
    else byModel.set(name, [...(byModel.get(name) ?? []), ...capabilities]);
  }
  return { all, byModel };
}

function parseCapability(word: string): Capability {
  const capability = CAPABILITIES.find((known) => known === word);
  if (capability !== undefined) return capability;
  throw refuse(`Allowed choices are ${CAPABILITIES.join(", ")}.${suggest(word, CAPABILITIES)}`);
}

function refuse(sentence: string): CommandError {
  return new CommandError("usage", `--capability: ${sentence}`);
}
