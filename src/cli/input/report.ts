import type { Answered, Installation } from "#cli/installation/client.ts";
import { InvalidArgumentError, type Command } from "commander";
import { DAY_US, formatInstant, type Clock, type InstantUs, parseInstant } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { FILTER_TAGS_MAX, isTagPair, OUTCOME_FILTERS } from "#stats/filter.ts";
import { formerOption, choiceOption } from "#cli/input/options.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";
import { CommandError, suggest } from "#cli/screen/failure.ts";
import { parseMonth } from "#stats/month.ts";
import { toBucketIndex, toBucketStart, type Bucket } from "#stats/bucket.ts";

/** The query of a report (specification, section 4.4); what is undefined is left out. */
export interface ReportQuery {
  readonly [name: string]: string | readonly string[] | undefined;
}

/** A report as `/stats` answers it, and what its reader has to know beside it. */
export interface Report<Body> {
  readonly body: Body;
  /** Sentences, such as that rows were left out. */
  readonly notices: readonly string[];
}

/**
 * On this machine, usage that a server answered a moment ago is on its way into the database: it is waited for. Returns
 * what has to be said of what is not there even so.
 */
export async function settleUsage({ local }: Pick<Installation, "local">): Promise<readonly string[]> {
  const uncommittedBytes = local === null ? 0 : await local.ledger.settle();
  if (uncommittedBytes === 0) return [];
  return [
    `${uncommittedBytes} bytes of the usage journal are not in the database yet and are not counted: the server brings them in, in a moment while it runs, else at its next start.`,
  ];
}

/** Asks for a report when what was used is there: see `settleUsage`. */
export async function readReport<Body>(
  installation: Installation,
  ask: () => Promise<Answered<Body>>,
): Promise<Report<Body>> {
  const unsettled = await settleUsage(installation);
  const { data, headers } = await ask();
  return { body: data, notices: [...unsettled, ...toNotices(headers)] };
}

/** Sentences for the headers of a report's answer. */
export function toNotices(headers: Headers): readonly string[] {
  const window = headers.get("x-proxy-window");
  const notices = [
    window !== null &&
      `Older rows were removed (PROXY_USAGE_RETENTION_DAYS), so what is counted is ${window}.`,
    headers.get("x-proxy-truncated") !== null &&
      "There is more than one report holds: the least used was left out. Narrow it down.",
  ];
  return notices.filter((notice) => notice !== false);
}

/** Provider of the relay's usage (specification, section 2.10). */
export const RELAY_SENTINEL = "transparent:messages";

/** The filters of specification section 4.4. */
export interface FilterOptions extends InstallationOptions {
  readonly since?: string;
  readonly until?: string;
  readonly principal?: string;
  readonly key?: string;
  readonly provider?: string;
  readonly model?: string;
  readonly client?: string;
  readonly tag?: readonly string[];
  readonly outcome?: string;
  readonly tier?: string;
}

/** Refused requests are in no report; `lockport refusals` lists them. */
const LOGGED_OUTCOMES = OUTCOME_FILTERS.filter((outcome) => outcome !== "refused");

/** The filters that a report takes beside the others. */
interface FilterKinds {
  readonly outcomes: boolean;
  /** True where absent. */
  readonly models?: boolean;
}

export function addFilterOptions(command: Command, { outcomes, models = true }: FilterKinds): Command {
  command
    .option("--since <instant>", `${INSTANT_FORMS} (inclusive)`, readInstant)
    .option("--until <instant>", "the same (exclusive)", readInstant)
    .option("--principal <name>", "one principal's")
    .addOption(formerOption("--person <name>", "principal"))
    .option("--key <id>", "made with this API key")
    .option("--provider <name>", `one provider's; the relay's is ${RELAY_SENTINEL}`)
    .option("--client <prefix>", "whose User-Agent begins so")
    .option("--tier <name>", "answered at this service tier; standard is none of its own")
    .option("--tag <key:value>", "that carry this tag; repeatable, all must match", collectTags);
  if (models) command.option("--model <alias>", "one model's");
  return outcomes
    ? command.addOption(choiceOption("--outcome <outcome>", "that ended so", LOGGED_OUTCOMES))
    : command;
}

/** The window of a report that has no `--since`. */
export interface DefaultWindow {
  readonly days: number;
  /** Whole days of the UTC calendar, of which the last is the present one. */
  readonly areWhole?: boolean;
}

/**
 * The window of a report. Without `--since` it begins some days before its end; without these it has no beginning. Throws a
 * `CommandError` for one that ends before it begins.
 */
export function toWindow(
  options: Pick<FilterOptions, "since" | "until">,
  clock: Clock,
  fallback?: DefaultWindow,
) {
  const nowUs = clock.nowUs();
  const until = toInstantText(options.until, nowUs);
  const since = toInstantText(options.since, nowUs) ?? toStart(toUs(until, nowUs), fallback);
  if (toUs(since, 0) >= toUs(until, Number.POSITIVE_INFINITY)) {
    throw new CommandError(
      "usage",
      "--since has to be before --until: there is no time between them. A word such as last-month is when that begins.",
    );
  }
  return { since, until };
}

/** The query of a report, with its window. */
export function toQuery(options: FilterOptions, clock: Clock, fallback?: DefaultWindow) {
  return {
    ...toWindow(options, clock, fallback),
    principal: options.principal,
    key: options.key,
    provider: options.provider,
    model: options.model,
    client: options.client,
    outcome: options.outcome,
    tier: options.tier,
    tag: options.tag,
  };
}

function collectTags(text: string, before: readonly string[] = []): readonly string[] {
  if (!isTagPair(text)) {
    throw new InvalidArgumentError(
      "It must be key:value, such as app:wiki; each part has letters, digits and ._- and begins with a letter or digit.",
    );
  }
  if (before.length === FILTER_TAGS_MAX) {
    throw new InvalidArgumentError(`At most ${FILTER_TAGS_MAX} tags can be filtered by.`);
  }
  return [...before, text];
}

function toStart(endUs: InstantUs, fallback: DefaultWindow | undefined): string | undefined {
  if (fallback === undefined) return undefined;
  const { days, areWhole = false } = fallback;
  // An end at midnight belongs to the day before it.
  const startUs = areWhole ? toBeginning(endUs - 1, "day", 1 - days) : endUs - days * DAY_US;
  return formatInstant(Math.max(startUs, YEAR_0_US));
}

function toUs(text: string | undefined, absent: number): number {
  return (text === undefined ? null : parseInstant(text)) ?? absent;
}

const SECONDS_PER: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400 };
const AGO = /^(?<count>[0-9]{1,6})(?<unit>[smhd])$/;

/** Words for the beginning of a part of the UTC calendar: which one, counted from the present. */
const BEGINNINGS: { readonly [word: string]: readonly [bucket: Bucket, offset: number] } = {
  today: ["day", 0],
  yesterday: ["day", -1],
  "this-week": ["week", 0],
  "last-week": ["week", -1],
  "this-month": ["month", 0],
  "last-month": ["month", -1],
};
const WORDS = Object.keys(BEGINNINGS);

export const INSTANT_FORMS = `ISO 8601 in UTC; how long ago: 90s, 15m, 12h, 7d; or when one of these began: ${WORDS.join(", ")}`;

/** The first instant that can be written. */
export const YEAR_0_US = -62_167_219_200_000_000;

/** An option's instant, as it was typed. */
export function readInstant(text: string): string {
  if (AGO.test(text) || WORDS.includes(text) || parseInstant(text.trim()) !== null) return text;
  throw new InvalidArgumentError(
    `It must be a date or a time in UTC, such as 2026-01-31 or 2026-01-31T08:00:00Z, how long ago: 90s, 15m, 12h, 7d, or one of ${WORDS.join(", ")}.${suggest(text, WORDS)}`,
  );
}

/** An option's month, as it was typed. */
export function readMonth(text: string): string {
  return readBy(() => parseMonth(text, 0), text);
}

/** Holds an option to the domain's own rule. */
export function readBy(rule: () => unknown, text: string): string {
  try {
    rule();
  } catch (cause) {
    throw cause instanceof ProxyError ? new InvalidArgumentError(cause.message) : cause;
  }
  return text;
}

/** Turns what was typed into what the interface takes. Throws a `CommandError` for what lies before the year 0. */
export function toInstantText(text: string | undefined, nowUs: InstantUs): string | undefined {
  const beginning = BEGINNINGS[text ?? ""];
  if (beginning !== undefined) return formatInstant(toBeginning(nowUs, ...beginning));
  const { count, unit } = AGO.exec(text ?? "")?.groups ?? {};
  const seconds = SECONDS_PER[unit ?? ""];
  if (count === undefined || seconds === undefined) return text?.trim();
  const atUs = nowUs - Number(count) * seconds * 1_000_000;
  if (atUs >= YEAR_0_US) return formatInstant(atUs);
  throw new CommandError("usage", `${text} ago is before the year 0: leave it out for everything there is.`);
}

/** When the day, week (from Monday) or month begins that lies so many after the present one. */
export function toBeginning(nowUs: InstantUs, bucket: Bucket, offset: number): InstantUs {
  return toBucketStart(bucket, toBucketIndex(bucket, nowUs) + offset);
}
