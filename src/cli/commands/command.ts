import { Option, type Command } from "commander";
import { parseConfig, type Config, type Environment } from "#boot/config.ts";
import { makeLocal, openLocal, type Local } from "#boot/local.ts";
import { toOrigin } from "#boot/setting-values.ts";
import { createSystem } from "#boot/system.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { createLocalInstallation } from "#cli/installation/installation-local.ts";
import { createRemoteInstallation } from "#cli/installation/installation-remote.ts";
import type { Installation } from "#cli/installation/installation.ts";
import type { OutputOptions } from "#cli/screen/output.ts";
import { createRemote } from "#cli/installation/remote.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

export interface LocalOptions extends OutputOptions {
  readonly dataDir?: string;
}

export interface InstallationOptions extends LocalOptions {
  /** An origin; undefined is this machine's data folder. */
  readonly url?: string;
}

/** A command that works on this machine's data folder or, with `--url`, on a server; its options are `InstallationOptions`. */
export function addCommand(parent: Command, usage: string, description: string): Command {
  return addDataDirOption(parent.command(usage).description(description))
    .addOption(
      new Option("--url <origin>", "work on this server, as the owner of PROXY_API_KEY")
        .argParser((text) => readOrigin(text, "--url"))
        .conflicts("dataDir"),
    )
    .option("--json", "print JSON");
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

/** Lines that can be typed as they stand, shown at the end of the command's help. */
export function addExamples(command: Command, lines: readonly string[]): Command {
  return command.addHelpText("after", `\nExamples:\n${lines.map((line) => `  ${line}\n`).join("")}`);
}

/** `--url` is answered with a sentence where it can have no meaning. */
export function refuseUrl(command: Command): Command {
  const refuse = () => {
    throw new CommandError(
      "usage",
      `lockport ${toPath(command)} works on the data folder of the machine that it runs on: leave --url out, and run it where the server runs.`,
    );
  };
  return command.addOption(new Option("--url <origin>").argParser(refuse).hideHelp());
}

/** A flag goes before its variable, and is held to the same rule. */
export function configWith(
  env: Environment,
  flags: { readonly [variable: string]: string | undefined },
): Config {
  const given = Object.entries(flags).filter(([, value]) => value !== undefined);
  return parseConfig({ ...env, ...Object.fromEntries(given) });
}

type LocalRun<Result> = (local: Local, config: Config) => Promise<Result>;

/** Opens the installation, runs the command, and closes it again whatever happens. Throws a `SetupError` when there is none. */
export function withLocal<Result>(
  terminal: Terminal,
  options: LocalOptions,
  run: LocalRun<Result>,
): Promise<Result> {
  return runOn(openLocal, { terminal, options, run });
}

/** The same for the command that may come first: where there is no installation it makes one. */
export function withNewLocal<Result>(
  terminal: Terminal,
  options: LocalOptions,
  run: LocalRun<Result>,
): Promise<Result> {
  return runOn(makeLocal, { terminal, options, run });
}

interface LocalCall<Result> {
  readonly terminal: Terminal;
  readonly options: LocalOptions;
  readonly run: LocalRun<Result>;
}

async function runOn<Result>(
  open: typeof openLocal,
  { terminal, options, run }: LocalCall<Result>,
): Promise<Result> {
  const config = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
  // What a server would tell at level info (a database made, a migration applied) is noise beside a command's answer.
  const logLevel = config.logLevel === "info" ? "warn" : config.logLevel;
  const local = await open(config, createSystem({ logLevel }));
  try {
    return await run(local, config);
  } finally {
    await local.close();
  }
}

/** Runs the command on what its options name. Throws a `CommandError` when a server is named without an API key. */
export async function withInstallation<Result>(
  terminal: Terminal,
  options: InstallationOptions,
  run: (installation: Installation) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const { url } = options;
  if (url === undefined) {
    return withLocal(terminal, options, (local) => run(createLocalInstallation(local)));
  }
  const { apiKey } = parseConfig(terminal.env);
  if (apiKey === null) {
    throw new CommandError("permission", "Set PROXY_API_KEY to an API key of the server that --url names.");
  }
  return run(createRemoteInstallation(createRemote({ origin: url, apiKey, signal })));
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

/** `key create` of `lockport key create`. */
export function toPath(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at?.parent !== null && at !== null; at = at.parent)
    names.unshift(at.name());
  return names.join(" ");
}
