import type { Command } from "commander";
import type { AnswerOf } from "#http/client.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { picoToNumber, REPORT_UNITS, type Pico } from "#kernel/units.ts";
import {
  addFilterOptions,
  readReport,
  toQuery,
  type FilterOptions,
  type ReportQuery,
} from "#cli/input/report.ts";
import { addCommand, choiceOption } from "#cli/input/options.ts";
import type { Installation } from "#cli/installation/client.ts";
import { describeUnknownFilters, listKeys } from "#cli/installation/lists.ts";
import { withInstallation } from "#cli/installation/open.ts";
import { writeRows } from "#cli/routes/answer.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { addExamples } from "#cli/screen/help.ts";
import { toCount, toMoment, writeJson } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

const DAYS_DEFAULT = 30;
const DIMENSIONS = [
  "model",
  "principal",
  "key",
  "provider",
  "tag",
  "app",
  "client",
  "endpoint",
  "tier",
  "day",
] as const;
type Dimension = (typeof DIMENSIONS)[number];
/** Former words, which still work. */
const FORMER_WORDS = { person: "principal" } as const;
/** Failed requests are left out. */
const COUNTED = ["ok", "cancelled"] as const;

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
    const { by } = options;
    const query = toQuery(options, terminal.clock, { days: DAYS_DEFAULT, areWhole: by === "day" });
    return withInstallation(terminal, options, async (installation) => {
      const all = (await readBreakdown(installation, query)).body.total;
      const counted = { ...query, outcome: COUNTED };
      const { body, notices } = await readBreakdown(installation, { ...counted, ...TO_BREAKDOWN[by] });
      const groups = await readGroups(installation, by, { counted, rows: body.rows });
      const total = { ...toSums(body.total), unpriced_requests: all.unpriced };
      for (const notice of notices) terminal.writeMessage(`${notice}\n`);
      const isCut = body.truncated && by in TO_BREAKDOWN;
      if (isCut)
        terminal.writeMessage(`These are the ${body.rows.length} that cost the most; the total has all.\n`);
      if (options.json === true) {
        const views = groups.map(({ name, ...figures }) => ({ [by]: name, ...figures }));
        const { since = null, until = null } = query;
        writeJson(terminal, { by, since, until, usage: views, ...(isCut && { truncated: true }), total });
        return;
      }
      const toName = by === "key" ? await readKeyNames(installation) : (name: string) => name;
      const usage = groups.map(({ name, ...figures }) => ({
        [by]: name === null ? toNoName(by) : toName(name),
        ...figures,
      }));
      const columns = [by, "requests", "cancelled", "units", "cost"];
      writeRows(terminal, { usage, total }, { rows: ["usage"], columns, spare: SPARE, total: "total" });
      if (groups.length === 0) terminal.writeMessage(toNothing(all.requests));
      if (all.requests === 0) terminal.writeMessage(await describeUnknownFilters(installation.api, options));
      terminal.writeMessage(toFooter(query, all.unpriced));
    });
  });
  command.addHelpText(
    "after",
    `
Answered and cancelled requests; failed ones cost nothing and are left out.
Without --since it is the last ${DAYS_DEFAULT} days, or those before --until. By tag a request that names a model counts under
each of its tags. Days are those of UTC. With --url any API key does: what the team used is for all of it to see.`,
  );
  addExamples(command, [
    "lockport usage",
    "lockport usage --by principal --since 2026-03-01 --until 2026-04-01",
    "lockport usage --by day --since this-month",
    "lockport usage --by key --since last-month --until this-month",
    "lockport usage --by tag --since 7d --provider openai --json",
  ]);
}

/** Breakdowns that have a row for each value; the others are grouped otherwise, and of theirs the total alone is taken. */
const TO_BREAKDOWN: { readonly [by in Dimension]?: ReportQuery } = {
  ...Object.fromEntries(
    ["model", "principal", "key", "provider", "client", "endpoint", "tier"].map((by) => [
      by,
      { by, limit: String(PAGE_LIMIT_MAX) },
    ]),
  ),
  app: { by: "tag:app", limit: String(PAGE_LIMIT_MAX) },
};

function readBreakdown(installation: Installation, query: ReportQuery) {
  return readReport(installation, () =>
    installation.api.callWithHeaders("GET /stats/breakdown", { query: { limit: "1", ...query } }),
  );
}

type UsageRow = AnswerOf<"GET /stats/summary">["usage"][number];
type Sums = Pick<UsageRow, "requests" | "cancelled" | "cost" | "units">;

interface UsageGroup extends Sums {
  /** Null is "none", such as no User-Agent or no tag. */
  readonly name: string | null;
}

interface Counted {
  readonly counted: ReportQuery;
  readonly rows: AnswerOf<"GET /stats/breakdown">["rows"];
}

/** The most expensive first, days in the order of the calendar; days without any usage are left out. */
async function readGroups(
  installation: Installation,
  by: Dimension,
  { counted, rows }: Counted,
): Promise<readonly UsageGroup[]> {
  if (by === "day") {
    const query = { ...counted, bucket: "day" };
    const { series } = await installation.api.call("GET /stats/series", { query });
    return series
      .filter(({ requests }) => requests > 0)
      .map(({ start, ...sums }) => toGroup(start.slice(0, "2026-01-31".length), sums));
  }
  if (by === "tag")
    return groupByTag((await installation.api.call("GET /stats/summary", { query: { ...counted } })).usage);
  const none = by === "app" ? "untagged" : null;
  return rows.map(({ value, ...sums }) => toGroup(value ?? none, sums));
}

function toGroup(name: string | null, sums: Sums): UsageGroup {
  return { name, ...toSums(sums) };
}

function toSums({ requests, cancelled, cost, units }: Sums): Sums {
  return { requests, cancelled, cost, units };
}

/** Summary rows put together; a request counts under each of its tags, which no breakdown has. */
export function groupByTag(rows: readonly Pick<UsageRow, keyof Sums | "tags">[]): readonly UsageGroup[] {
  const pairs = rows.flatMap((row) =>
    (row.tags.length === 0 ? [null] : row.tags).map((name) => ({ name, row })),
  );
  return [...Map.groupBy(pairs, ({ name }) => name)]
    .map(([name, members]) => toGroup(name, sumUp(members.map(({ row }) => row))))
    .sort(
      (left, right) =>
        (right.cost ?? -1) - (left.cost ?? -1) ||
        right.requests - left.requests ||
        compareCodeUnits(left.name ?? "", right.name ?? ""),
    );
}

function sumUp(rows: readonly Sums[]): Sums {
  let requests = 0;
  let cancelled = 0;
  let cost: Pico | null = null;
  const units: { [unit in keyof Sums["units"]]: number } = {};
  for (const row of rows) {
    requests += row.requests;
    cancelled += row.cancelled;
    if (row.cost !== null) cost = (cost ?? 0n) + toPico(row.cost);
    for (const unit of REPORT_UNITS) {
      const quantity = row.units[unit];
      if (quantity !== undefined) units[unit] = (units[unit] ?? 0) + quantity;
    }
  }
  return { requests, cancelled, cost: cost === null ? null : picoToNumber(cost), units };
}

/** The exact amount behind a JSON number, so that sums are exact; `toFixed` spells out the twelve decimals that there are. */
function toPico(amount: number): Pico {
  return BigInt(amount.toFixed(12).replace(".", ""));
}

/** Names keys for a table: `…x7Yz ada laptop`; one by its id where it is gone, or who asks may not list keys. */
async function readKeyNames({ api }: Installation): Promise<(id: string) => string> {
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

/** Columns that a narrow screen leaves out, the first of these first. */
const SPARE = ["audio s", "cancelled", "cached"];

function toNoName(by: Dimension): string {
  if (by === "key") return "(no key)";
  return by === "tag" ? "(untagged)" : "(none)";
}

function toNothing(requestCount: number): string {
  return requestCount === 0
    ? "No requests in this window.\n"
    : "No request in this window was answered: lockport requests tail --outcome failed\n";
}

interface Window {
  readonly since?: string | undefined;
  readonly until?: string | undefined;
}

function toFooter({ since = "the first request", until = "now" }: Window, unpricedRequests: number): string {
  const window = `${toMoment(since)} to ${toMoment(until)}, UTC`;
  const unpriced =
    unpricedRequests === 0
      ? ""
      : `${toCount(unpricedRequests)} ${unpricedRequests === 1 ? "request has" : "requests have"} units without a price, which the cost leaves out: lockport pricing missing\n`;
  return `${window}\n${unpriced}`;
}
