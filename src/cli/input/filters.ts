import { InvalidArgumentError, type Command } from "commander";
import { DAY_US, formatInstant, type Clock, type InstantUs } from "#kernel/clock.ts";
import { FILTER_TAGS_MAX, isTagPair, OUTCOME_FILTERS } from "#stats/filter.ts";
import { parseInstant } from "#kernel/instant.ts";
import { choiceOption } from "./choice.ts";
import { INSTANT_FORMS, readInstant, toBeginning, toInstantText, YEAR_0_US } from "./instant.ts";
import { formerOption } from "./options.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";

/** What the relay's usage has for a provider (specification, section 2.10). */
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
}

export function addFilterOptions(command: Command, { outcomes }: { readonly outcomes: boolean }): Command {
  command
    .option("--since <instant>", `${INSTANT_FORMS} (inclusive)`, readInstant)
    .option("--until <instant>", "the same (exclusive)", readInstant)
    .option("--principal <name>", "one principal's")
    .addOption(formerOption("--person <name>", "principal"))
    .option("--key <id>", "made with this API key")
    .option("--provider <name>", `one provider's; the relay's is ${RELAY_SENTINEL}`)
    .option("--model <alias>", "one model's")
    .option("--client <prefix>", "whose User-Agent begins so")
    .option("--tag <key:value>", "that carry this tag; repeatable, all must match", collectTags);
  return outcomes
    ? command.addOption(choiceOption("--outcome <outcome>", "that ended so", OUTCOME_FILTERS))
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
