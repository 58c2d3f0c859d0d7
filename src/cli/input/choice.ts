import { Argument, InvalidArgumentError, Option } from "commander";
import { CommandError } from "#cli/screen/failure.ts";
import { suggest } from "#cli/screen/suggest.ts";

/** An option that takes one of these words, which its help and completion list; former words stand for present ones. */
export function choiceOption(
  flags: string,
  description: string,
  words: readonly string[],
  former: { readonly [word: string]: string } = {},
): Option {
  return new Option(flags, description)
    .choices(words)
    .argParser((text: string) => readWord(former[text] ?? text, words));
}

/** An argument that is one of these words. */
export function choiceArgument(name: string, description: string, words: readonly string[]): Argument {
  return new Argument(name, description).choices(words).argParser((text: string) => readWord(text, words));
}

/** An option that takes one of these words and can be given again: its value is a list. */
export function choicesOption(flags: string, description: string, words: readonly string[]): Option {
  return new Option(flags, description)
    .choices(words)
    .argParser((text: string, before: readonly string[] | undefined): readonly string[] | undefined => [
      ...(before ?? []),
      readWord(text, words),
    ]);
}

export interface PairsOption<Value> {
  readonly flags: string;
  readonly description: string;
  /** What can stand before the equals sign, each once. */
  readonly keys: readonly string[];
  /** One `key=value`; throws commander's `InvalidArgumentError` when it is none. */
  readonly collect: (text: string) => { readonly [key: string]: Value };
}

/** An option `--name key=value` that can be given again, once for each key. What was typed is not repeated: it may be a URL. */
export function pairsOption<Value>({ flags, description, keys, collect }: PairsOption<Value>): Option {
  const option = new Option(flags, description);
  const refuse = (why: string) => new CommandError("usage", `${option.long ?? flags}: ${why}`);
  return option.argParser((text: string, before: { readonly [key: string]: Value } | undefined) => {
    try {
      const pair = collect(text);
      const key = readWord(Object.keys(pair).join(), keys);
      if (before === undefined || !Object.hasOwn(before, key)) return { ...before, ...pair };
      throw refuse(`${key} was given twice. Give it once.`);
    } catch (cause) {
      throw cause instanceof InvalidArgumentError ? refuse(cause.message) : cause;
    }
  });
}

function readWord(text: string, words: readonly string[]): string {
  if (words.includes(text)) return text;
  throw new InvalidArgumentError(`Allowed choices are ${words.join(", ")}.${suggest(text, words)}`);
}
