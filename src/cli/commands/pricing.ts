import type { Command } from "commander";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { writeJson, writeList } from "#cli/screen/output.ts";
import { addPricingLoadCommand } from "./pricing-load.ts";
import { addPricingMissingCommand } from "./pricing-missing.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

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
}
