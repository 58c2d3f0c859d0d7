import type { Command } from "commander";
import { DAY_US, formatInstant, type InstantUs } from "#kernel/clock.ts";
import { REPORT_UNITS, type ReportUnit, UNIT_TABLE } from "#kernel/units.ts";
import { parseInstant } from "#kernel/instant.ts";
import { choiceOption } from "#cli/input/choice.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation } from "#cli/installation/open.ts";
import { toAmount, toCount, toMoment } from "#cli/screen/figures.ts";
import { addFilterOptions, toQuery, type FilterOptions } from "#cli/input/filters.ts";
import type { Installation } from "#cli/installation/client.ts";
import { readReport, type ReportQuery } from "#cli/installation/report.ts";
import { writeJson } from "#cli/screen/output.ts";
import { toPrintable } from "#kernel/printable.ts";
import { createStyle } from "#cli/screen/style.ts";
import { toTable } from "#cli/screen/table.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import {
  DIMENSIONS,
  DIMENSION_WORDS,
  FORMER_WORDS,
  groupUsage,
  sumUsage,
  type Dimension,
  type Sums,
  type UsageGroup,
} from "./usage-groups.ts";

const DAYS_DEFAULT = 30;

interface UsageOptions extends FilterOptions {
  readonly by: Dimension;
}

export function addUsageCommand(program: Command, terminal: Terminal): void {
  const command = addFilterOptions(
    addCommand(program, "usage", "sum up what was used and what it cost").addOption(
      choiceOption("--by <dimension>", "one row for each of these", DIMENSION_WORDS, FORMER_WORDS).default(
        "model",
      ),
    ),
    { outcomes: false },
  ).action((options: UsageOptions) => {
    const { clock } = terminal;
    const query = toQuery(options, clock, DAYS_DEFAULT);
    return withInstallation(terminal, options, async (installation) => {
      const { summary } = installation.api.stats;
      const { body, notices } = await readReport(installation, () => summary.get({ query: { ...query } }));
      const rows = body.usage;
      const counts = await countRequests(installation, { query, nowUs: clock.nowUs() });
      const groups = groupUsage(rows, options.by);
      const total = { ...sumUsage(rows), unpriced_requests: counts.unpriced };
      for (const notice of notices) terminal.writeMessage(`${notice}\n`);
      if (options.json === true) {
        const field = DIMENSIONS[options.by];
        const views = groups.map(({ name, ...sums }) => ({ [field]: name, ...sums }));
        const { since = null, until = null } = query;
        writeJson(terminal, { by: field, since, until, usage: views, total });
        return;
      }
      writeUsage(terminal, options.by, { groups, total });
      if (groups.length === 0) terminal.writeMessage(toNothing(counts.all));
      terminal.writeMessage(toFooter(query, counts.unpriced));
    });
  });
  command.addHelpText(
    "after",
    `
Answered and cancelled requests that name a model; failed ones cost nothing and are left out.
Without --since it is the last ${DAYS_DEFAULT} days, or those before --until. By tag a request counts under each of its tags.
With --url any API key does: what the team used is for all of it to see.`,
  );
  addExamples(command, [
    "lockport usage",
    "lockport usage --by principal --since 2026-03-01 --until 2026-04-01",
    "lockport usage --by tag --since 7d --provider openai --json",
  ]);
}

interface Window {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

interface RequestCounts {
  /** Failed ones too. */
  readonly all: number;
  /** Those with a unit that has no price. */
  readonly unpriced: number;
}

/** What is counted lies between these, and every month of a series is a bucket, of which it has a limited number. */
const EARLIEST_US = 0;
const LATEST_AHEAD_US = DAY_US;

/** Months are the fewest buckets that a series comes in. */
async function countRequests(
  installation: Installation,
  { query, nowUs }: { readonly query: Window & ReportQuery; readonly nowUs: InstantUs },
): Promise<RequestCounts> {
  const [sinceUs, untilUs] = [query.since, query.until].map((text) => parseInstant(text ?? ""));
  const asked = {
    ...query,
    bucket: "month",
    since: formatInstant(Math.max(sinceUs ?? EARLIEST_US, EARLIEST_US)),
    ...(typeof untilUs === "number" && {
      until: formatInstant(Math.min(untilUs, nowUs + LATEST_AHEAD_US)),
    }),
  };
  const { body } = await readReport(installation, () => installation.api.stats.series.get({ query: asked }));
  const sum = (field: "requests" | "unpriced_requests") =>
    body.series.reduce((total, bucket) => total + bucket[field], 0);
  return { all: sum("requests"), unpriced: sum("unpriced_requests") };
}

const COLUMNS = ["requests", "cancelled", ...REPORT_UNITS.map(toHeading), "cost"];

function writeUsage(
  terminal: Terminal,
  by: Dimension,
  { groups, total }: { readonly groups: readonly UsageGroup[]; readonly total: Sums },
): void {
  const rows = groups.map((group) => [toPrintable(group.name ?? toNoName(by)), ...toCells(group)]);
  const style = createStyle(terminal.env, terminal.screens.data);
  terminal.writeData(
    toTable(
      [by.toUpperCase(), ...COLUMNS.map((column) => column.toUpperCase())],
      [...rows, ["total", ...toCells(total)]],
      { right: new Set(COLUMNS.map((_, index) => index + 1)), styleHeading: style.bold },
    ),
  );
}

function toCells({ requests, cancelled, cost, units }: Sums): string[] {
  const shown = REPORT_UNITS.map((unit) => toCount(units[unit]));
  return [toCount(requests), toCount(cancelled), ...shown, requests === 0 ? "-" : toAmount(cost)];
}

function toHeading(unit: ReportUnit): string {
  const { heading, measure } = UNIT_TABLE[unit];
  return measure === "seconds" ? `${heading} s` : heading;
}

function toNoName(by: Dimension): string {
  return by === "tag" ? "(untagged)" : "(none)";
}

function toNothing(requestCount: number): string {
  return requestCount === 0
    ? "No requests in this window.\n"
    : "No request in this window was answered: lockport requests tail --outcome failed\n";
}

function toFooter(query: Window, unpricedRequests: number): string {
  const [since, until] = [query.since ?? "the first request", query.until ?? "now"];
  const window = `${toMoment(since)} to ${toMoment(until)}, UTC`;
  const unpriced =
    unpricedRequests === 0
      ? ""
      : `${toCount(unpricedRequests)} ${unpricedRequests === 1 ? "request has" : "requests have"} units without a price, which the cost leaves out: lockport pricing missing\n`;
  return `${window}\n${unpriced}`;
}
