import type { Command } from "commander";
import { ProxyError } from "#kernel/errors.ts";
import type { FeedDraft } from "#catalog/feed.ts";
import { toCounted } from "#kernel/text.ts";
import { UNITS } from "#kernel/units.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { readTextInput } from "#cli/input/input.ts";
import { writeDone, writeJson, writeList } from "#cli/screen/output.ts";
import { addPricingMissingCommand } from "./pricing-missing.ts";
import { withProgress } from "#cli/screen/progress.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { ask, given, isObject } from "#cli/installation/client.ts";

interface ShowOptions extends InstallationOptions {
  readonly model?: string;
}

export function addPricingCommands(program: Command, terminal: Terminal): void {
  const pricing = program.command("pricing").description("prices per million units");

  const load = addCommand(pricing, "load <file>", "load a pricing feed: all of it, or nothing").action(
    async (file: string, options: InstallationOptions) => {
      const feed = parseFeedText(await readTextInput(terminal, file));
      await withInstallation(terminal, options, async ({ api }) => {
        const view = await withProgress(terminal, "loading prices", () =>
          ask(api.admin.v1.pricing.post(given(feed))),
        );
        const sentence = `loaded ${toCounted(view.entries, "price")}, version ${view.version}`;
        writeDone(terminal, options, { view, sentence });
      });
    },
  );
  load.addHelpText(
    "after",
    `
A feed is JSON (- reads it from stdin):
  {"version": "2026-03", "entries": [
    {"model": "gpt-5", "unit": "input_tokens", "price_per_million": 1.25}]}
Units:
  ${UNITS.join("\n  ")}
Prices of what it does not name stay.`,
  );
  addExamples(load, [
    "lockport pricing load prices.json",
    "curl -s https://prices.example.org | lockport pricing load -",
  ]);

  const show = addCommand(pricing, "show", "show every price that is kept, and the feed it came from")
    .option("--model <name>", "only those under this alias or upstream name")
    .action((options: ShowOptions) =>
      withInstallation(terminal, options, async ({ api }) => {
        const view = await ask(api.admin.v1.pricing.get());
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
}

/** That its entries are a list is what the type asks; what they mean is the catalog's to judge. */
function parseFeedText(text: string): FeedDraft {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new CommandError("failure", "The feed is not JSON: lockport pricing load --help shows one.");
  }
  if (!isObject(parsed) || !Array.isArray(parsed["entries"])) {
    throw new ProxyError("invalid_pricing", "A feed must have a version and a list of entries.", {
      param: "entries",
    });
  }
  const { version, entries, ...rest } = parsed;
  const [unknownField] = Object.keys(rest);
  if (unknownField !== undefined) {
    throw new ProxyError("invalid_request", "A feed can have a version and entries, and no other field.", {
      param: unknownField,
    });
  }
  return { version, entries: Array.isArray(entries) ? entries : [] };
}
