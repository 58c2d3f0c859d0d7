import { InvalidArgumentError, type Command } from "commander";
import { ROTATION_GRACE_SECONDS_MAX } from "#identity/keys.ts";
import { requireLabel } from "#identity/owned-secret.ts";
import { parseTerms } from "#identity/secret-terms.ts";
import { createSystemClock, formatInstant } from "#kernel/clock.ts";
import { CommandError, checkTyped } from "#cli/screen/failure.ts";
import {
  addTagChangeOptions,
  addTagOption,
  toTagChange,
  toTagField,
  type TagChangeOptions,
  type TagOptions,
} from "./tag-options.ts";

/** What a key or a relay token is made with. */
export interface TermOptions extends TagOptions {
  readonly label?: string;
  readonly expires?: string;
  readonly models?: readonly string[];
}

/** What is changed of one. */
export interface TermChangeOptions extends TermOptions, TagChangeOptions {
  readonly neverExpires?: true;
  readonly allModels?: true;
  readonly pause?: true;
  readonly resume?: true;
}

interface Kind {
  /** Keys are held to models, relay tokens are not. */
  readonly hasModels: boolean;
}

export function addTermOptions(command: Command, { hasModels }: Kind): Command {
  return addTagOption(addEndOptions(command, { hasModels }));
}

function addEndOptions(command: Command, { hasModels }: Kind): Command {
  command.option("--expires <when>", "when it ends: a UTC date-time, or from now: 12h, 30d", toExpiry);
  return hasModels
    ? command.option("--models <aliases>", "the only models that it may use, such as gpt,mini", toAliases)
    : command;
}

export function addTermChangeOptions(command: Command, kind: Kind): Command {
  addEndOptions(command.option("--label <text>", "what it is for"), kind).option(
    "--never-expires",
    "take its expiry away",
  );
  if (kind.hasModels) command.option("--all-models", "let it use every model");
  addTagChangeOptions(command);
  return command.option("--pause", "refuse it until it is resumed").option("--resume", "end a pause");
}

/** As a body of the interface has them. Throws a `CommandError` for what this machine can judge alone. */
export function toTermFields({ label, expires, models, tag }: TermOptions) {
  checkTyped(() => {
    requireLabel(label ?? "");
    parseTerms({ expiresAt: expires, models }, createSystemClock().nowUs());
  });
  return { label, expires_at: expires, models, tags: toTagField({ tag }) };
}

/** Throws a `CommandError` as well for options that exclude each other, and when nothing is to change. */
export function toTermChangeFields(options: TermChangeOptions) {
  const { neverExpires, allModels, pause, resume } = options;
  const { label, expires_at, models } = toTermFields(options);
  refuseBoth("--expires", expires_at, "--never-expires", neverExpires);
  refuseBoth("--models", models, "--all-models", allModels);
  refuseBoth("--pause", pause, "--resume", resume);
  const enabled = pause === true ? false : resume;
  const changes = {
    label,
    expires_at: neverExpires === true ? null : expires_at,
    models: allModels === true ? null : models,
    tags: toTagChange(options),
    enabled,
  };
  if (Object.values(changes).every((value) => value === undefined))
    throw new CommandError("usage", "Say what is to change.");
  return changes;
}

function refuseBoth(one: string, given: unknown, other: string, alsoGiven: unknown): void {
  if (given === undefined || alsoGiven === undefined) return;
  throw new CommandError("usage", `${one} and ${other} exclude each other: leave one out.`);
}

const SECONDS_PER: { readonly [unit: string]: number } = { s: 1, m: 60, h: 3600, d: 86_400 };
const DURATION = /^(?<count>[1-9][0-9]{0,5})(?<unit>[smhd])$/;

function toSeconds(text: string): number | null {
  const { count, unit } = DURATION.exec(text.trim())?.groups ?? {};
  const each = SECONDS_PER[unit ?? ""];
  return each === undefined ? null : Number(count) * each;
}

/** A duration counts from now; anything else is a date-time, which is judged with the other fields. */
function toExpiry(text: string): string {
  const seconds = toSeconds(text);
  return seconds === null ? text.trim() : formatInstant(createSystemClock().nowUs() + seconds * 1_000_000);
}

function toAliases(text: string): readonly string[] {
  return text.split(",").map((alias) => alias.trim());
}

/** How long the secret before a rotation works. */
export function toGraceSeconds(text: string): number {
  const seconds = toSeconds(text);
  if (seconds === null || seconds > ROTATION_GRACE_SECONDS_MAX)
    throw new InvalidArgumentError("It must be a time of at most seven days, such as 15m, 12h or 7d.");
  return seconds;
}
