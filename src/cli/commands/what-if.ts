import type { Command } from "commander";
import type { AnswerOf } from "#http/client.ts";
import { addFilterOptions, readReport, toQuery, type FilterOptions } from "#cli/input/report.ts";
import { addCommand } from "#cli/input/options.ts";
import { describeUnknownFilters } from "#cli/installation/lists.ts";
import { withInstallation } from "#cli/installation/open.ts";
import { writeRows } from "#cli/routes/answer.ts";
import { addExamples } from "#cli/screen/help.ts";
import { toCount, writeJson } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

const DAYS_DEFAULT = 30;
const TABLE = {
  rows: ["units"],
  columns: [
    "unit",
    "tier?",
    "geo?",
    "quantity",
    "cost",
    "other_cost as at the other's",
    "difference",
    "unpriced_reason? as not priced",
  ],
  spare: ["quantity"],
  total: "total",
};

type Answer = AnswerOf<"POST /stats/what-if">;

export function addCommands(program: Command, terminal: Terminal): void {
  const command = addFilterOptions(
    addCommand(
      program,
      "what-if <model> <other>",
      "what a model's usage would have cost at another's prices",
    ),
    { outcomes: true, models: false },
  ).action((model: string, other: string, options: FilterOptions) => {
    const { since, until, ...filters } = toQuery(options, terminal.clock, { days: DAYS_DEFAULT });
    const body = {
      ...(since !== undefined && { since }),
      ...(until !== undefined && { until }),
      models: { [model]: other },
      filters: Object.fromEntries(
        Object.entries(filters).flatMap(([name, value]) =>
          value === undefined ? [] : [[name, typeof value === "string" ? value : [...value]]],
        ),
      ),
    };
    return withInstallation(terminal, options, async (installation) => {
      const { body: found, notices } = await readReport(installation, () =>
        installation.api.callWithHeaders("POST /stats/what-if", { body }),
      );
      for (const notice of notices) terminal.writeMessage(`${notice}\n`);
      if (options.json === true) {
        writeJson(terminal, found);
        return;
      }
      const total = { ...found.total, difference: found.total.difference ?? undefined };
      writeRows(terminal, { units: toRows(found), total }, TABLE);
      if (found.total.requests === 0) {
        terminal.writeMessage("No requests in this window.\n");
        terminal.writeMessage(await describeUnknownFilters(installation.api, { ...options, model }));
      }
      for (const note of toNotes(found)) terminal.writeMessage(`${note}\n`);
    });
  });
  command.addHelpText(
    "after",
    `
The quantities that were used of a model, at today's prices of another one: the same tokens, and no forecast of how it would
answer. Without --since it is the last ${DAYS_DEFAULT} days, or those before --until.`,
  );
  addExamples(command, [
    "lockport what-if gpt-5 gpt-5-mini",
    "lockport what-if gpt-5 claude-sonnet --since last-month --until this-month --tag team:search",
  ]);
}

/** An amount that is not told is no word of its own. */
function toRows({ units, unit_costs: unitCosts }: Answer) {
  return units.map(({ cost, difference, ...row }) => ({
    ...row,
    cost: cost ?? (unitCosts === "exact" ? null : undefined),
    difference: difference ?? undefined,
  }));
}

const NOT_TOLD = {
  too_many_requests: "What each unit cost is told of at most 200,000 requests: choose a shorter window.",
  rows_removed:
    "What each unit cost is not told: rows of this window were removed (PROXY_USAGE_RETENTION_DAYS).",
} as const;

/** Sentences about what the figures leave out. */
function toNotes({ note, models, total, unit_costs: unitCosts }: Answer): readonly string[] {
  const notes = [
    note,
    total.unpriced_requests > 0 &&
      `${toCount(total.unpriced_requests)} of ${toCount(total.requests)} requests were recorded with units without a price, so that there is no difference: lockport pricing missing`,
    models.some((model) => model.cache_writes_as_input) &&
      "Cache writes, audio and images have prices of their own there, and are counted as input and output.",
    models.some((model) => model.conditions_left_out !== undefined) &&
      "Prices there that depend on a request's length or hour are not applied.",
    unitCosts !== "exact" && NOT_TOLD[unitCosts],
  ];
  return notes.filter((sentence) => sentence !== false);
}
