import { InvalidArgumentError, Option, type Command } from "commander";
import { isTagPair } from "#stats/filter.ts";
import { given } from "#cli/installation/client.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";

/** Who a limit holds for, one of them at most; none is everybody. */
export interface SubjectOptions extends InstallationOptions {
  readonly principal?: string;
  readonly key?: string;
  readonly relayToken?: string;
  readonly tag?: string;
}

const NAMES = ["principal", "key", "relayToken", "tag"];

export function addSubjectOptions(command: Command): Command {
  const options = [
    new Option("--principal <name>", "one principal's requests"),
    new Option("--key <id>", "made with this API key"),
    new Option("--relay-token <id>", "made with this relay token"),
    new Option("--tag <key:value>", "that carry this tag").argParser(readTag),
  ];
  for (const option of options)
    command.addOption(option.conflicts(NAMES.filter((name) => name !== option.attributeName())));
  return command;
}

export function toSubject({ principal, key, relayToken, tag }: SubjectOptions) {
  return given({ principal, key, relay_token: relayToken, tag });
}

function readTag(text: string): string {
  const tag = text.trim().toLowerCase();
  if (isTagPair(tag)) return tag;
  throw new InvalidArgumentError("It must be key:value, such as team:search.");
}
