import type { Command } from "commander";
import { type InstantUs, formatInstant, DAY_US } from "#kernel/clock.ts";
import {
  isRareUnit,
  REPORT_UNITS,
  type ReportUnit,
  UNIT_TABLE,
  picoToNumber,
  type Pico,
} from "#kernel/units.ts";
import { addCommand, choiceOption } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { withInstallation } from "#cli/installation/open.ts";
import { toAmount, toCount, toMoment, writeJson, writeTable } from "#cli/screen/output.ts";
import {
  addFilterOptions,
  toQuery,
  type FilterOptions,
  readReport,
  type ReportQuery,
} from "#cli/input/report.ts";
import type { Installation } from "#cli/installation/client.ts";
import { toPrintable } from "#kernel/printable.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { describeUnknownFilters, listKeys } from "#cli/installation/lists.ts";
import { parseInstant } from "#kernel/instant.ts";
import { GROUPS_MAX } from "#stats/series-grouping.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { AnswerOf } from "#http/client.ts";
import { compareCodeUnits } from "#kernel/text.ts";

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

/** Usage that the summary's rows do not tell: the series' do. */
export type SeriesDimension = "key" | "day";

/** What the usage report counts: failed requests are left out. */
const COUNTED = ["ok", "cancelled"] as const;
/** Past the hundredth key the others are one row. */
const REST = "(other)";

/** Usage by day in the order of the calendar, or by key, the most expensive first; days and keys without any are left out. */
export async function readSeriesGroups(
  installation: Installation,
  by: SeriesDimension,
  asked: Asked,
): Promise<{ readonly groups: readonly UsageGroup[]; readonly notices: readonly string[] }> {
  const read = by === "day" ? readDays : readKeys;
  const { rows, notices } = await read(installation, {
    ...asked,
    query: { ...asked.query, outcome: COUNTED },
  });
  return { groups: rows, notices };
}

async function readDays(installation: Installation, { query }: Asked) {
  const asked = { ...query, bucket: "day" };
  const { body, notices } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /stats/series", { query: asked }),
  );
  const rows = body.series.map((sums) => toGroup(sums.start.slice(0, "2026-01-31".length), sums));
  return { rows: toUsed(rows), notices };
}

async function readKeys(installation: Installation, { query, nowUs }: Asked) {
  const asked = { ...toMonths(query, nowUs), group_by: "key", top: String(GROUPS_MAX) };
  const { body, notices } = await readReport(installation, () =>
    installation.api.callWithHeaders("GET /stats/series", { query: asked }),
  );
  const groups = (body.groups ?? []).map((sums) => toGroup(sums.value, sums));
  const rest = body.other ?? null;
  return { rows: toUsed(rest === null ? groups : [...groups, toGroup(REST, rest)]), notices };
}

function toGroup(name: string | null, { requests, cancelled, cost, units }: Sums): UsageGroup {
  return { name, requests, cancelled, cost, units };
}

function toUsed(groups: readonly UsageGroup[]): readonly UsageGroup[] {
  return groups.filter(({ requests }) => requests > 0);
}

/** What is counted lies between these, and every month of a series is a bucket, of which it has a limited number. */
const EARLIEST_US = 0;
const LATEST_AHEAD_US = DAY_US;

/** The query of a series in months, which are the fewest buckets that it comes in. */
export function toMonths(query: ReportQuery, nowUs: InstantUs): ReportQuery {
  const [sinceUs, untilUs] = [query["since"], query["until"]].map((text) =>
    parseInstant(typeof text === "string" ? text : ""),
  );
  return {
    ...query,
    bucket: "month",
    since: formatInstant(Math.max(sinceUs ?? EARLIEST_US, EARLIEST_US)),
    ...(typeof untilUs === "number" && {
      until: formatInstant(Math.min(untilUs, nowUs + LATEST_AHEAD_US)),
    }),
  };
}

/** How a table calls keys: `…x7Yz ada laptop`; by its id where it is gone, or who asks may not list keys. */
export async function readKeyNames({ api }: Installation): Promise<(id: string) => string> {
  const keys = await listKeys(api, { principal: undefined }).catch((cause: unknown) => {
    if (cause instanceof CommandError && cause.kind === "permission") return [];
    throw cause;
  });
  const names = new Map(
    keys.map(({ id, key_suffix: suffix, label, principal }) => [
      id,
      `…${suffix} ${principal}${label === "" ? "" : ` ${label}`}`,
    ]),
  );
  return (id) => names.get(id) ?? id;
}

/** What rows of the summary can be summed up by: the word on the command line, and the field that says it in each row. */
const SUMMARY_FIELDS = {
  model: "model",
  principal: "principal",
  provider: "provider",
  tag: "tag",
  app: "app",
  client: "client",
  endpoint: "endpoint",
} as const;
export type SummaryDimension = keyof typeof SUMMARY_FIELDS;
export const DIMENSIONS = [
  "model",
  "principal",
  "key",
  "provider",
  "tag",
  "app",
  "client",
  "endpoint",
  "day",
] as const;
export type Dimension = (typeof DIMENSIONS)[number];

/** Former words, which still work. */
export const FORMER_WORDS: { readonly [former: string]: string } = { person: "principal" };

/** A row of `GET /stats/summary`. */
export type UsageRow = AnswerOf<"GET /stats/summary">["usage"][number];

/** Sums of usage. */
export interface Sums {
  readonly requests: number;
  readonly cancelled: number;
  /** Null when nothing in it was priced. */
  readonly cost: number | null;
  /** Only units that were reported. */
  readonly units: { readonly [unit: string]: number };
}

export interface UsageGroup extends Sums {
  /** Null is "none", such as no User-Agent or no tag. */
  readonly name: string | null;
}

/** Summary rows put together, the most expensive first. By tag a request counts under each of its tags. */
export function groupUsage(rows: readonly UsageRow[], by: SummaryDimension): readonly UsageGroup[] {
  const groups = new Map<string | null, UsageRow[]>();
  for (const row of rows) {
    for (const name of toNames(row, by)) {
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [row]);
      else group.push(row);
    }
  }
  return [...groups]
    .map(([name, members]) => Object.assign({ name }, sumUsage(members)))
    .sort(
      (left, right) =>
        (right.cost ?? -1) - (left.cost ?? -1) ||
        right.requests - left.requests ||
        compareCodeUnits(left.name ?? "", right.name ?? ""),
    );
}

export function sumUsage(rows: readonly Sums[]): Sums {
  let requests = 0;
  let cancelled = 0;
  let cost: Pico | null = null;
  const units = new Map<string, number>();
  for (const row of rows) {
    requests += row.requests;
    cancelled += row.cancelled;
    if (row.cost !== null) cost = (cost ?? 0n) + toPico(row.cost);
    for (const [unit, quantity] of Object.entries(row.units))
      units.set(unit, (units.get(unit) ?? 0) + quantity);
  }
  return {
    requests,
    cancelled,
    cost: cost === null ? null : picoToNumber(cost),
    units: Object.fromEntries(
      REPORT_UNITS.flatMap((unit) => {
        const quantity = units.get(unit);
        return quantity === undefined ? [] : [[unit, quantity]];
      }),
    ),
  };
}

function toNames(row: UsageRow, by: SummaryDimension): readonly (string | null)[] {
  if (by !== "tag") return [row[SUMMARY_FIELDS[by]]];
  return row.tags.length === 0 ? [null] : row.tags;
}

/** The exact amount behind a JSON number, so that sums are exact; `toFixed` spells out the twelve decimals that there are. */
function toPico(amount: number): Pico {
  return BigInt(amount.toFixed(12).replace(".", ""));
}
