import type { Command } from "commander";
import type { InstantUs } from "#kernel/clock.ts";
import { isRareUnit, REPORT_UNITS, type ReportUnit, UNIT_TABLE } from "#kernel/units.ts";
import { choiceOption } from "#cli/input/choice.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation } from "#cli/installation/open.ts";
import { toAmount, toCount, toMoment } from "#cli/screen/figures.ts";
import { addFilterOptions, toQuery, type FilterOptions } from "#cli/input/filters.ts";
import type { Installation } from "#cli/installation/client.ts";
import { readReport, type ReportQuery } from "#cli/installation/report.ts";
import { writeJson, writeTable } from "#cli/screen/output.ts";
import { toPrintable } from "#kernel/printable.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { describeUnknownFilters } from "#cli/commands/filter-names.ts";
import {
  DIMENSIONS,
  FORMER_WORDS,
  groupUsage,
  sumUsage,
  type Dimension,
  type Sums,
  type UsageGroup,
} from "#cli/commands/usage-groups.ts";
import { readKeyNames, readSeriesGroups, toMonths } from "#cli/commands/usage-series.ts";

const DAYS_DEFAULT = 30;

interface UsageOptions extends FilterOptions {
  readonly by: Dimension;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const command = addFilterOptions(
    addCommand(program, "usage", "sum up what was used and what it cost").addOption(
      choiceOption("--by <dimension>", "one row for each of these", DIMENSIONS, FORMER_WORDS).default(
        "model",
      ),
    ),
    { outcomes: false },
  ).action((options: UsageOptions) => {
    const { clock } = terminal;
    const { by } = options;
    const query = toQuery(options, clock, { days: DAYS_DEFAULT, areWhole: by === "day" });
    return withInstallation(terminal, options, async (installation) => {
      const nowUs = clock.nowUs();
      const counts = await countRequests(installation, { query, nowUs });
      const { groups, sums, notices } = await readGroups(installation, by, { query, nowUs });
      const total = { ...sums, unpriced_requests: counts.unpriced };
      for (const notice of notices) terminal.writeMessage(`${notice}\n`);
      if (options.json === true) {
        const views = groups.map(({ name, ...figures }) => ({ [by]: name, ...figures }));
        const { since = null, until = null } = query;
        writeJson(terminal, { by, since, until, usage: views, total });
        return;
      }
      const toName = by === "key" ? await readKeyNames(installation) : (name: string) => name;
      writeUsage(terminal, { by, groups, total, toName });
      if (groups.length === 0) terminal.writeMessage(toNothing(counts.all));
      if (counts.all === 0) terminal.writeMessage(await describeUnknownFilters(installation.api, options));
      terminal.writeMessage(toFooter(query, counts.unpriced));
    });
  });
  command.addHelpText(
    "after",
    `
Answered and cancelled requests that name a model; failed ones cost nothing and are left out.
Without --since it is the last ${DAYS_DEFAULT} days, or those before --until. By tag a request counts under each of its tags;
by key and by day relayed calls that name no model count too, and days are those of UTC.
With --url any API key does: what the team used is for all of it to see.`,
  );
  addExamples(command, [
    "lockport usage",
    "lockport usage --by principal --since 2026-03-01 --until 2026-04-01",
    "lockport usage --by day --since this-month",
    "lockport usage --by key --since last-month --until this-month",
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

interface Asked {
  readonly query: Window & ReportQuery;
  readonly nowUs: InstantUs;
}

async function countRequests(installation: Installation, { query, nowUs }: Asked): Promise<RequestCounts> {
  const { body } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /stats/series", { query: toMonths(query, nowUs) }),
  );
  const sum = (field: "requests" | "unpriced_requests") =>
    body.series.reduce((total, bucket) => total + bucket[field], 0);
  return { all: sum("requests"), unpriced: sum("unpriced_requests") };
}

async function readGroups(installation: Installation, by: Dimension, asked: Asked) {
  const { query } = asked;
  if (by === "day" || by === "key") {
    const { groups, notices } = await readSeriesGroups(installation, by, asked);
    return { groups, sums: sumUsage(groups), notices };
  }
  const { body, notices } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /stats/summary", { query: { ...query } }),
  );
  return { groups: groupUsage(body.usage, by), sums: sumUsage(body.usage), notices };
}

/** What a narrow screen leaves out, the first of these first. */
const SPARE = ["audio s", "cancelled", "cached"];

interface UsageTable {
  readonly by: Dimension;
  readonly groups: readonly UsageGroup[];
  readonly total: Sums;
  readonly toName: (name: string) => string;
}

function writeUsage(terminal: Terminal, { by, groups, total, toName }: UsageTable): void {
  const units = REPORT_UNITS.filter((unit) => !isRareUnit(unit) || total.units[unit] !== undefined);
  const columns = ["requests", "cancelled", ...units.map(toHeading), "cost"];
  const rows = groups.map(({ name, ...sums }) => [
    toPrintable(name === null ? toNoName(by) : toName(name)),
    ...toCells(sums, units),
  ]);
  const rare = units.filter(isRareUnit).map(toHeading);
  writeTable(terminal, {
    heading: [by, ...columns].map((column) => column.toUpperCase()),
    rows: [...rows, ["total", ...toCells(total, units)]],
    right: new Set(columns.map((_, index) => index + 1)),
    spare: [...rare, ...SPARE].map((column) => columns.indexOf(column) + 1),
  });
}

function toCells({ requests, cancelled, cost, units: sums }: Sums, units: readonly ReportUnit[]): string[] {
  const shown = units.map((unit) => toCount(sums[unit]));
  return [toCount(requests), toCount(cancelled), ...shown, requests === 0 ? "-" : toAmount(cost)];
}

function toHeading(unit: ReportUnit): string {
  const { heading, measure } = UNIT_TABLE[unit];
  return measure === "seconds" ? `${heading} s` : heading;
}

function toNoName(by: Dimension): string {
  if (by === "key") return "(no key)";
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
