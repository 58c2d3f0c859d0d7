import type { Command } from "commander";
import { CAPABILITIES } from "#catalog/capability.ts";
import { choicesOption } from "#cli/input/choice.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { CommandError, toFailure } from "#cli/screen/failure.ts";
import { collectTexts } from "#cli/input/input.ts";
import { writeList } from "#cli/screen/output.ts";
import { withProgress } from "#cli/screen/progress.ts";
import { toSetCommand } from "#cli/input/provider-options.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { ask, given, toPathPart, type Client } from "#cli/installation/client.ts";

interface DiscoverOptions extends InstallationOptions {
  readonly bind?: true;
  readonly model?: readonly string[];
  readonly capability?: readonly string[];
  readonly hidden?: true;
}

interface Discovered {
  readonly upstream_name: string;
  readonly bound_alias: string | null;
}

/** What became of one discovered model. */
interface Row extends Discovered {
  /** Null unless it was to be bound now and could not be. */
  readonly failure: string | null;
}

export function addDiscoverCommand(provider: Command, terminal: Terminal): void {
  const command = addCommand(provider, "discover <name>", "ask a provider which models it has")
    .option("--bind", "bind what is not bound yet, each under its upstream name")
    .option("--model <upstream-name>", "only this one; repeatable", collectTexts)
    .addOption(
      choicesOption(
        "--capability <capability>",
        "of what is bound; default: chat and chat_stream; repeatable",
        CAPABILITIES,
      ),
    )
    .option("--hidden", "keep what is bound off the public list")
    .action((name: string, options: DiscoverOptions) => {
      refuseUnbound(options);
      return withInstallation(terminal, options, async ({ api }) => {
        const discovered = await withProgress(terminal, `asking ${name}, for at most 30 s`, () =>
          ask(api.admin.v1.providers({ name: toPathPart(name) }).discover.get()).catch((cause: unknown) => {
            throw toDiscoveryFailure(cause, name, options);
          }),
        );
        const found = chooseModels(discovered.models, options.model);
        const columns = ["upstream_name", "bound_alias"] as const;
        if (options.bind !== true) {
          writeList(terminal, options, { views: found, columns });
          return;
        }
        const rows = await bindAll(terminal, api, { provider: name, found, options });
        writeList(terminal, options, { views: rows, columns: [...columns, "failure"] });
        const failed = rows.filter(({ failure }) => failure !== null).length;
        if (failed > 0) throw new CommandError("failure", `${failed} of ${rows.length} could not be bound.`);
      });
    });
  addExamples(command, [
    "lockport provider discover openai",
    "lockport provider discover openai --bind --model gpt-5 --model gpt-5-mini",
    "lockport provider discover vllm --bind --hidden",
  ]);
}

/** What refuses a key is told apart from what has no list: only the interface's sentence holds the status. */
const REFUSED_KEY = /\bstatus 40[13]\b/;

function toDiscoveryFailure(cause: unknown, name: string, options: DiscoverOptions): unknown {
  const { kind, sentence } = toFailure(cause);
  if (kind !== "failure" || !REFUSED_KEY.test(sentence)) return cause;
  const command = toSetCommand(name, ["--api-key-file", "PATH"], options);
  return new CommandError(
    kind,
    `${sentence} It refuses the API key, or wants one. To set another: ${command}`,
  );
}

/** What only says how to bind would be passed over in silence. */
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
  const names = new Set(models.map((model) => model.upstream_name));
  const missing = wanted.find((name) => !names.has(name));
  if (missing !== undefined) throw new CommandError("failure", `The provider has no model ${missing}.`);
  return models.filter((model) => wanted.includes(model.upstream_name));
}

interface Binding {
  readonly provider: string;
  readonly found: readonly Discovered[];
  readonly options: DiscoverOptions;
}

/** One after the other; one that is refused, as when its name is taken, keeps none of the others from being bound. */
async function bindAll(
  terminal: Terminal,
  api: Client,
  { provider, found, options }: Binding,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  await withProgress(terminal, `binding models of ${provider}`, async () => {
    for (const model of found) {
      const row: Row = { ...model, failure: null };
      rows.push(row.bound_alias === null ? await bind(api, row, { provider, options }) : row);
    }
  });
  return rows;
}

async function bind(api: Client, row: Row, { provider, options }: Omit<Binding, "found">): Promise<Row> {
  try {
    const { alias } = await ask(
      api.admin.v1.models.post(
        given({
          provider,
          upstream_name: row.upstream_name,
          capabilities: options.capability,
          hidden: options.hidden,
          origin: "discovered",
        }),
      ),
    );
    return { ...row, bound_alias: alias };
  } catch (cause) {
    if (cause instanceof CommandError && cause.kind === "failure") return { ...row, failure: cause.message };
    throw cause;
  }
}
