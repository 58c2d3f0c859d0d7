import { Option, type Command, type CommandOptions, Argument, InvalidArgumentError } from "commander";
import { toOrigin } from "#boot/settings/setting-values.ts";
import { toPath } from "#cli/screen/help.ts";
import { CommandError, suggest } from "#cli/screen/failure.ts";
import { containsOwnToken, SECRET_LENGTH } from "#identity/secret.ts";
import { LOGIN_LINK_PREFIX } from "#identity/login-links.ts";

/**
 * A command that works on this machine's data folder or, with `--url`, on a server; its options are `InstallationOptions`. One
 * that is of a server has no `--data-dir`.
 */
export function addCommand(
  parent: Command,
  usage: string,
  description: string,
  { isOfServer = false, ...how }: CommandOptions & { readonly isOfServer?: boolean } = {},
): Command {
  const command = parent.command(usage, how).description(description);
  return (isOfServer ? refuseDataDir(command) : addDataDirOption(command))
    .addOption(urlOption())
    .option("--json", "print JSON");
}

/** For a command whose options are `InstallationOptions`. */
export function urlOption(): Option {
  return new Option(
    "--url <origin>",
    "work on this server (before LOCKPORT_URL), as the owner of LOCKPORT_API_KEY",
  )
    .argParser((text) => readOrigin(text, "--url"))
    .conflicts("dataDir");
}

/** A command that works on this machine's data folder only; its options are `LocalOptions`. */
export function addLocalCommand(parent: Command, usage: string, description: string): Command {
  return refuseUrl(addDataDirOption(parent.command(usage).description(description))).option(
    "--json",
    "print JSON",
  );
}

export function addDataDirOption(command: Command): Command {
  return command.option("--data-dir <path>", "data folder (before PROXY_DATA_DIR)");
}

/** Answers `--url` with a sentence where it can have no meaning. */
export function refuseUrl(command: Command): Command {
  const refuseHere = () => {
    throw new CommandError(
      "usage",
      `lockport ${toPath(command)} works on the data folder of the machine that it runs on: leave --url out, and run it where the server runs.`,
    );
  };
  return command.addOption(new Option("--url <origin>").argParser(refuseHere).hideHelp());
}

/** Answers `--data-dir` with a sentence where a folder has no answer. */
function refuseDataDir(command: Command): Command {
  const refuseHere = () => {
    throw refuse(
      `lockport ${toPath(command)} asks a server: name it with --url or LOCKPORT_URL, and leave --data-dir out.`,
    );
  };
  return command.addOption(new Option("--data-dir <path>").argParser(refuseHere).hideHelp());
}

/** What a command says that only a server has an answer to. */
export function refuseLocal(command: Command): CommandError {
  return refuse(
    `lockport ${toPath(command)} asks a server, as the owner of LOCKPORT_API_KEY: name it with --url or LOCKPORT_URL.`,
  );
}

/** A former spelling of an option, whose value goes to the present one: it works, and no help lists it. */
export function formerOption(flags: string, attribute: string): Option {
  const option = new Option(flags).hideHelp();
  option.attributeName = () => attribute;
  return option;
}

/** An option's origin. Throws a `CommandError` without the value, which may hold a password. */
export function readOrigin(text: string, option: string): string {
  try {
    return toOrigin(text);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new CommandError("usage", `${option} must be ${cause.message}.`);
  }
}

/**
 * Refuses, in this command and all beneath it, what would silently mean something else than was meant:
 * - a blank value, as a shell makes of a variable that is not set;
 * - an option given again where only its last value would count, and one beside its opposite (`--x --no-x`). An option whose
 *   value is a list or a record collects, and a switch says the same twice.
 */
export function holdOptions(command: Command): void {
  const given = new Map<string, Option>();
  for (const option of command.options) {
    const name = option.attributeName();
    const flag = option.long ?? option.flags;
    const takesValue = option.required || option.optional;
    // commander's own listener came before and has kept the value.
    command.on(`option:${option.name()}`, (text: string | undefined) => {
      if (takesValue && text?.trim() === "") {
        throw refuse(`${flag} is blank: give it a value${option.mandatory ? "" : ", or leave it out"}.`);
      }
      const before = given.get(name);
      given.set(name, option);
      const isCollected = typeof command.getOptionValue(name) === "object";
      if (before === undefined || isCollected) return;
      if (before !== option) throw refuse(`${before.long} and ${flag} exclude each other: leave one out.`);
      if (takesValue) throw refuse(`${flag} was given twice: give it once.`);
    });
  }
  for (const each of command.commands) holdOptions(each);
}

/** Refuses a blank argument, as a shell makes of a variable that is not set. Throws a `CommandError`. */
export function refuseBlankArguments({ args, registeredArguments }: Command): void {
  const at = args.findIndex((text) => text.trim() === "");
  if (at === -1) return;
  const argument = registeredArguments[at];
  throw refuse(
    `The argument ${argument?.name() ?? at + 1} is blank: give it a value${argument?.required === true ? "" : ", or leave it out"}.`,
  );
}

/**
 * Refuses an option that stands before the command though commands have it. What no command has is left to commander and
 * its suggestions. Throws a `CommandError`.
 */
export function refuseLeadingOption(program: Command, args: readonly string[]): void {
  const flag = args[0]?.split("=", 1)[0] ?? "";
  const isOwn = ({ options }: Command) => options.some(({ short, long }) => flag === short || flag === long);
  const isBeneath = ({ commands }: Command): boolean =>
    commands.some((each) => isOwn(each) || isBeneath(each));
  if (isOwn(program) || !isBeneath(program)) return;
  throw refuse(`${flag} comes after the command, as in lockport key list ${flag}.`);
}

function refuse(sentence: string): CommandError {
  return new CommandError("usage", sentence);
}

/** Names that people expect a secret's option to have; none of them exists. */
const SECRET_OPTION = /^--(?:api-key|password|token|secret|credential)(?:=|$)/;

/**
 * Prefixes of providers' keys. Behind one come at least so many characters, 16 of them in a row letters and digits: no
 * name of a model or a person has that.
 */
const PROVIDER_KEY_PREFIXES = [
  "AIza",
  "csk-",
  "fw_",
  "ghp_",
  "github_pat_",
  "gsk_",
  "hf_",
  "nvapi-",
  "pplx-",
  "r8_",
  "sk-",
  "tgp_v1_",
  "xai-",
] as const;
const PROVIDER_KEY = new RegExp(
  `(?<![0-9A-Za-z])(?:${PROVIDER_KEY_PREFIXES.join("|")})(?=[\\w-]{20})[\\w-]*?[0-9A-Za-z]{16}`,
);
const LOGIN_TOKEN = new RegExp(`${LOGIN_LINK_PREFIX}[0-9A-Za-z]{${SECRET_LENGTH}}`);

/** Secrets that belong into no argument, and what to do about each. */
const SECRETS: readonly (readonly [isHeld: (arg: string) => boolean, sentence: string])[] = [
  [
    containsOwnToken,
    "One of the arguments is an API key or a relay token, which the shell's history keeps now: delete it by its id (lockport key list, lockport relay-token list) and make another. Commands take ids and names only.",
  ],
  [
    (arg) => LOGIN_TOKEN.test(arg),
    "One of the arguments holds a login link, which the shell's history keeps now: open it in a browser, which uses it up. Commands take the server's address alone.",
  ],
  [
    (arg) => PROVIDER_KEY.test(arg),
    "One of the arguments looks like a provider's API key, which the shell's history keeps now: if it is a real one, replace it there. A provider's key comes with --api-key-file PATH, with --api-key-file - from stdin, or from the prompt on a terminal.",
  ],
];

/**
 * Refuses secrets among the arguments, where every user of the machine can list them and the shell's history keeps them.
 * Throws a `CommandError` that says what to do instead and repeats nothing.
 */
export function refuseSecrets(args: readonly string[]): void {
  const option = args.find((arg) => SECRET_OPTION.test(arg));
  if (option !== undefined) {
    throw new CommandError(
      "usage",
      `${option.split("=", 1)[0]} does not exist: every user of this machine can read the arguments of a command, and the shell's history keeps them. A provider's API key comes with --api-key-file PATH, with --api-key-file - from stdin, or from the prompt on a terminal; your own with the variable LOCKPORT_API_KEY. If what you typed was a real one, replace it.`,
    );
  }
  const [, sentence] = SECRETS.find(([isHeld]) => args.some(isHeld)) ?? [];
  if (sentence !== undefined) throw new CommandError("usage", sentence);
}

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

export interface PairsOption<Value> {
  readonly flags: string;
  readonly description: string;
  /** Words before the equals sign, each once. */
  readonly keys: readonly string[];
  /** One `key=value`; throws commander's `InvalidArgumentError` when it is none. */
  readonly collect: (text: string) => { readonly [key: string]: Value };
}

/** An option `--name key=value` that can be given again, once for each key. What was typed is not repeated: it may be a URL. */
export function pairsOption<Value>({ flags, description, keys, collect }: PairsOption<Value>): Option {
  const option = new Option(flags, description);
  const refusePair = (why: string) => new CommandError("usage", `${option.long ?? flags}: ${why}`);
  return option.argParser((text: string, before: { readonly [key: string]: Value } | undefined) => {
    try {
      const pair = collect(text);
      const key = readWord(Object.keys(pair).join(), keys);
      if (before === undefined || !Object.hasOwn(before, key)) return { ...before, ...pair };
      throw refusePair(`${key} was given twice. Give it once.`);
    } catch (cause) {
      throw cause instanceof InvalidArgumentError ? refusePair(cause.message) : cause;
    }
  });
}

function readWord(text: string, words: readonly string[]): string {
  if (words.includes(text)) return text;
  throw new InvalidArgumentError(`Allowed choices are ${words.join(", ")}.${suggest(text, words)}`);
}
