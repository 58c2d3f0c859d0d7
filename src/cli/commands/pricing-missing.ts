import type { Command } from "commander";
import { DAY_US, createSystemClock, formatInstant } from "#kernel/clock.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { RELAY_SENTINEL } from "#cli/input/filters.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import type { Installation } from "#cli/installation/installation.ts";
import { writeList } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { ask, type Client } from "#cli/installation/client.ts";
import { listModels } from "#cli/installation/lists.ts";
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
      writeList(terminal, options, {
        views,
        columns: ["model", "provider", "unit", "quantity"],
        figures: ["quantity"],
      });
      for (const notice of notices) terminal.writeMessage(`${notice}\n`);
      if (options.json === true) return;
      terminal.writeMessage(
        views.length === 0
          ? `every unit that was used in the last ${WINDOW_DAYS} days has a price\n`
          : "such usage is recorded as unpriced; set prices with lockport pricing load\n",
      );
    }),
  );
  command.addHelpText(
    "after",
    "\nModels that are no longer in the catalog are left out, but for those of the relay.",
  );
  addExamples(command, [
    "lockport pricing missing",
    "lockport pricing missing --json | jq -r '.[].model' | sort -u",
  ]);
}

interface Missing {
  readonly model: string;
  readonly provider: string;
  readonly unit: string;
  readonly quantity: number;
}

/** One row per model and unit, by both. */
export async function findMissing(
  installation: Installation,
): Promise<{ readonly views: readonly Missing[]; readonly notices: readonly string[] }> {
  const since = formatInstant(createSystemClock().nowUs() - WINDOW_DAYS * DAY_US);
  const { api } = installation;
  const { body, notices } = await readReport(installation, () => api.stats.summary.get({ query: { since } }));
  const isPriced = await readPrices(api);
  const missing = new Map<string, Missing>();
  for (const { model, provider, units } of body.usage) {
    for (const [unit, quantity] of Object.entries(units)) {
      if (quantity === 0 || isPriced(model, { provider, unit })) continue;
      const key = JSON.stringify([model, provider, unit]);
      const sum = (missing.get(key)?.quantity ?? 0) + quantity;
      missing.set(key, { model, provider, unit, quantity: sum });
    }
  }
  return {
    views: [...missing].sort(([left], [right]) => compareCodeUnits(left, right)).map(([, row]) => row),
    notices,
  };
}

/** The prices in force: of the catalog's models, and for what the relay passes on those under exactly its name. */
async function readPrices(api: Client) {
  const models = new Map((await listModels(api)).map((model) => [model.alias, model]));
  const { entries } = await ask(api.admin.v1.pricing.get());
  const named = new Set(entries.map(({ model, unit }) => JSON.stringify([model, unit])));
  return (name: string, used: { readonly provider: string; readonly unit: string }): boolean => {
    if (used.provider === RELAY_SENTINEL) return named.has(JSON.stringify([name, used.unit]));
    const model = models.get(name);
    return model === undefined || Object.hasOwn(model.pricing, used.unit);
  };
}
