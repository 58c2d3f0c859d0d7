import { InvalidArgumentError, type Command } from "commander";
import { DAY_US, formatInstant, type Clock } from "#kernel/clock.ts";
import { FILTER_TAGS_MAX, isTagPair, OUTCOME_FILTERS } from "#stats/filter.ts";
import { parseInstant } from "#kernel/instant.ts";
import { choiceOption } from "./choice.ts";
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
    .option(
      "--since <instant>",
      "ISO 8601 in UTC, or how long ago: 90s, 15m, 12h, 7d (inclusive)",
      readInstant,
    )
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

/**
 * The query of a report. Without `--since` it begins `days` before its end; without `days` it has no beginning. Throws a
 * `CommandError` for a window that ends before it begins.
 */
export function toQuery(options: FilterOptions, clock: Clock, days?: number) {
  const nowUs = clock.nowUs();
  const until = toInstantText(options.until, nowUs);
  const since = toInstantText(options.since, nowUs) ?? toStart(until, { nowUs, days });
  if (toUs(since, 0) >= toUs(until, Number.POSITIVE_INFINITY)) {
    throw new CommandError("usage", "--since has to be before --until: there is no time between them.");
  }
  return {
    since,
    until,
    principal: options.principal,
    key: options.key,
    provider: options.provider,
    model: options.model,
    client: options.client,
    outcome: options.outcome,
    tag: options.tag,
  };
}

const SECONDS_PER: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400 };
const AGO = /^(?<count>[0-9]{1,6})(?<unit>[smhd])$/;

function readInstant(text: string): string {
  if (AGO.test(text) || parseInstant(text.trim()) !== null) return text;
  throw new InvalidArgumentError(
    "It must be a date or a time in UTC, such as 2026-01-31 or 2026-01-31T08:00:00Z, or how long ago: 90s, 15m, 12h, 7d.",
  );
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

/** The first instant that can be written. */
const YEAR_0_US = -62_167_219_200_000_000;

function toInstantText(text: string | undefined, nowUs: number): string | undefined {
  const { count, unit } = AGO.exec(text ?? "")?.groups ?? {};
  const seconds = SECONDS_PER[unit ?? ""];
  if (count === undefined || seconds === undefined) return text?.trim();
  const atUs = nowUs - Number(count) * seconds * 1_000_000;
  if (atUs >= YEAR_0_US) return formatInstant(atUs);
  throw new CommandError("usage", `${text} ago is before the year 0: leave it out for everything there is.`);
}

function toStart(
  until: string | undefined,
  { nowUs, days }: { readonly nowUs: number; readonly days: number | undefined },
): string | undefined {
  return days === undefined
    ? undefined
    : formatInstant(Math.max(toUs(until, nowUs) - days * DAY_US, YEAR_0_US));
}

function toUs(text: string | undefined, absent: number): number {
  return (text === undefined ? null : parseInstant(text)) ?? absent;
}
