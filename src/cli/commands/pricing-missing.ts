import type { Command } from "commander";
import { DAY_US, formatInstant } from "#kernel/clock.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import type { Installation } from "#cli/installation/client.ts";
import { writeList } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { readReport } from "#cli/installation/report.ts";

const WINDOW_DAYS = 30;

export function addPricingMissingCommand(pricing: Command, terminal: Terminal): void {
  const command = addCommand(
    pricing,
    "missing",
    `list what was used in the last ${WINDOW_DAYS} days and has no price now`,
  ).action((options: InstallationOptions) =>
    withInstallation(terminal, options, async (installation) => {
      const { views, notices } = await findMissing(installation);
      const hasReasons = views.some(({ reason }) => reason !== undefined);
      writeList(terminal, options, {
        views,
        columns: [
          "model",
          "kind",
          "unit",
          ...(hasReasons ? (["reason"] as const) : []),
          "quantity",
          "requests",
          "last_seen",
        ],
        figures: ["quantity", "requests"],
      });
      for (const notice of notices) terminal.writeMessage(`${notice}\n`);
      if (options.json === true) return;
      const advice = views.every(({ reason }) => reason !== undefined)
        ? "no price of these models holds for it"
        : "set prices with lockport pricing load";
      terminal.writeMessage(
        views.length === 0
          ? `every unit that was used in the last ${WINDOW_DAYS} days has a price\n`
          : `such usage is recorded as unpriced; ${advice}\n`,
      );
    }),
  );
  command.addHelpText(
    "after",
    "\nKinds: model, relay (priced under exactly its name), gone (no longer in the catalog).\nReasons: tier: flex and the like, of what was answered at a service tier for which no price holds.",
  );
  addExamples(command, [
    "lockport pricing missing",
    "lockport pricing missing --json | jq -r '.[].model' | sort -u",
  ]);
}

/** One row per name and unit, as the report answers them. */
export async function findMissing(installation: Installation) {
  const since = formatInstant(installation.clock.nowUs() - WINDOW_DAYS * DAY_US);
  const { body, notices } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /admin/v1/usage/missing-prices", { query: { since } }),
  );
  return { views: body.missing.filter((row) => !row.has_price), notices };
}
