import { Option, type Command } from "commander";
import { parseFixedTags } from "#identity/fixed-tags.ts";
import { checkTyped } from "#cli/screen/failure.ts";

/** Fixed tags that a principal, a key or a relay token is made with. */
export interface TagOptions {
  readonly tag?: readonly string[] | undefined;
}

/** What is changed of them: all that there are. */
export interface TagChangeOptions extends TagOptions {
  readonly clearTags?: true;
}

export function addTagOption(command: Command): Command {
  return command.option(
    "--tag <name:value>",
    "on all of its usage, such as team:search; callers cannot change it; repeatable",
    collect,
  );
}

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

/** A list replaces the one before. */
export function addTagChangeOptions(command: Command): Command {
  return addTagOption(command).addOption(
    new Option("--clear-tags", "take its fixed tags away").conflicts("tag"),
  );
}

/** As a body of the interface has them. Throws a `CommandError` for what this machine can judge alone. */
export function toTagField({ tag }: TagOptions): readonly string[] | undefined {
  checkTyped(() => parseFixedTags(tag ?? null));
  return tag;
}

export function toTagChange(options: TagChangeOptions): readonly string[] | null | undefined {
  return options.clearTags === true ? null : toTagField(options);
}
