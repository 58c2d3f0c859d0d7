import type { Command, Option } from "commander";

/** The commands, their options and arguments, as far as completing and helping need them. */
export interface CommandNode {
  /** Such as `["key", "create"]`; empty for the program itself. */
  readonly path: readonly string[];
  readonly name: string;
  /** Other words for it. */
  readonly aliases: readonly string[];
  readonly description: string;
  /** A shorter description, which fits into the root's help. */
  readonly summary: string;
  /** What the root's help lists it under. */
  readonly group: string;
  readonly commands: readonly CommandNode[];
  readonly options: readonly OptionNode[];
  readonly args: readonly ValueNode[];
}

/** What can stand for a value: these words, a path, or (neither) anything. */
export interface ValueNode {
  /** `alias` of `<alias>`. */
  readonly name: string;
  readonly choices: readonly string[];
  readonly isPath: boolean;
}

export interface OptionNode {
  /** Such as `-f` and `--follow`. */
  readonly names: readonly string[];
  readonly description: string;
  /** Null for a switch. */
  readonly value: ValueNode | null;
}

/** Reads a commander tree; hidden commands and options are left out. */
export function readCommandTree(command: Command, path: readonly string[] = []): CommandNode {
  const help = command.createHelp();
  const commands = help
    .visibleCommands(command)
    .filter((each) => each.name() !== "help")
    .map((each) => readCommandTree(each, [...path, each.name()]));
  return {
    path,
    name: command.name(),
    aliases: command.aliases(),
    description: command.description(),
    summary: command.summary() === "" ? command.description() : command.summary(),
    group: command.helpGroup(),
    commands,
    options: help.visibleOptions(command).map(readOption),
    args: command.registeredArguments.map((each) => toValue(each.name(), each.argChoices)),
  };
}

/** Every node, parents before their children. */
export function listNodes(node: CommandNode): readonly CommandNode[] {
  return [node, ...node.commands.flatMap(listNodes)];
}

function readOption(option: Option): OptionNode {
  const takesValue = option.required || option.optional;
  return {
    names: [option.short, option.long].filter((name) => name !== undefined),
    description: option.description,
    value: takesValue ? toValue(toValueName(option.flags), option.argChoices) : null,
  };
}

function toValue(name: string, choices: readonly string[] = []): ValueNode {
  return { name, choices, isPath: /^(path|file|folder)$/i.test(name) };
}

/** `path` of `--data-dir <path>`. */
function toValueName(flags: string): string {
  return /[<[]([^>\]]+)[>\]]/.exec(flags)?.[1] ?? "";
}

/** `key create` of `lockport key create`. */
export function toPath(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at?.parent !== null && at !== null; at = at.parent)
    names.unshift(at.name());
  return names.join(" ");
}
