import { configWith, type Config, parseConfig } from "#boot/settings/config.ts";
import { makeLocal, openLocal, type Local } from "#boot/local.ts";
import { createSystem } from "#boot/process/system.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { OutputOptions } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { Installation } from "#cli/installation/client.ts";
import { createLocalInstallation } from "#cli/installation/installation-local.ts";
import { createRemoteInstallation } from "#cli/installation/installation-remote.ts";
import { formatAddress, toReachable } from "#boot/settings/listen-address.ts";
import { findServingAddress } from "#boot/folder/serving-address.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { toOrigin, toText } from "#boot/settings/setting-values.ts";
import { SetupError } from "#kernel/errors.ts";

export interface LocalOptions extends OutputOptions {
  readonly dataDir?: string;
}

export interface InstallationOptions extends LocalOptions {
  /** An origin; undefined is that of `LOCKPORT_URL`, else this machine's data folder. */
  readonly url?: string;
}

type LocalRun<Result> = (local: Local, config: Config) => Promise<Result>;

/** Opens the data folder, runs the command, and closes it again whatever happens. Throws a `SetupError` when it holds no installation. */
export function withLocal<Result>(
  terminal: Terminal,
  options: LocalOptions,
  run: LocalRun<Result>,
): Promise<Result> {
  return runOn(openLocal, { terminal, options, run });
}

/** As `withLocal`, for the command that may come first: an installation is made where there is none. */
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
  // What a server logs at level info (a database made, a migration applied) is noise beside a command's output.
  const logLevel = config.logLevel === "info" ? "warn" : config.logLevel;
  const local = await open(config, {
    ...createSystem({ logLevel }),
    clock: terminal.clock,
    onUnconfirmed: () => terminal.sayAtInterrupt(UNCONFIRMED),
  });
  try {
    return await run(local, config);
  } finally {
    await local.close();
  }
}

const UNCONFIRMED =
  "It was interrupted: the change is made, and not all replicas have confirmed it yet. Each follows within PROXY_DATABASE_GRACE.";

/** Runs the command on what its options name. Throws a `CommandError` when a server is named without an API key. */
export async function withInstallation<Result>(
  terminal: Terminal,
  options: InstallationOptions,
  run: (installation: Installation) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const url = findServerUrl(terminal, options);
  if (url === null) {
    return withLocal(terminal, options, (local) => run(createLocalInstallation(local, terminal.clock)));
  }
  const apiKey = readApiKey(terminal);
  if (apiKey === null) {
    const named = options.url === undefined ? "LOCKPORT_URL" : "--url";
    throw new CommandError(
      "permission",
      `Set LOCKPORT_API_KEY to an API key of the server that ${named} names.`,
    );
  }
  return run(createRemoteInstallation({ origin: url, apiKey, clock: terminal.clock, signal }));
}

/** The server that these options, or else the environment, name; null for this machine's data folder. */
export function findServerUrl(
  { env }: Pick<Terminal, "env">,
  { url, dataDir }: InstallationOptions,
): string | null {
  return url ?? (dataDir === undefined ? readServerUrl(env) : null);
}

/**
 * Where a browser on this machine finds the server of these settings: the public URL, else the address that it is bound
 * to. Null when the port is chosen at the start.
 */
export function findOrigin({
  publicUrl,
  ...address
}: Pick<Config, "publicUrl" | "host" | "port">): string | null {
  if (publicUrl !== null) return publicUrl;
  return address.port === 0 ? null : toReachable(`http://${formatAddress(address)}`);
}

/** Where a browser on this machine finds the server that runs from the data folder now; null when none is known to. */
export function findServingOrigin({ dataDir }: Config): string | null {
  const found = findServingAddress(dataDir);
  return found === null ? null : (found.publicUrl ?? toReachable(found.url));
}

/** What the command line reads of a server elsewhere; `docs/configuration.md` is made from these. Not `PROXY_*`: a server does not read them. */
export const SERVER_SETTINGS = {
  url: {
    name: "LOCKPORT_URL",
    unit: "origin",
    sentence:
      "The server that commands work on, as `--url` says it for one; `--data-dir` precedes it. Unset: the data folder of this machine.",
    parse: toOrigin,
  },
  apiKey: {
    name: "LOCKPORT_API_KEY",
    unit: "text",
    sentence: "An API key of that server: commands work as its owner.",
    parse: toText,
  },
} as const;

/** Null when none is named. Throws a `SetupError` that names the variable and never repeats its value, which may hold a password. */
export function readServerUrl(env: Environment): string | null {
  return read(env, SERVER_SETTINGS.url);
}

/** The API key for a server, also by the variable's former name, which a terminal is told of; null when there is none. */
export function readApiKey(terminal: Terminal): string | null {
  const { env, screens } = terminal;
  const apiKey = read(env, SERVER_SETTINGS.apiKey);
  if (apiKey !== null) return apiKey;
  const former = parseConfig(env).apiKey;
  if (former !== null && screens.messages)
    terminal.writeMessage("PROXY_API_KEY is called LOCKPORT_API_KEY now; the former name still works.\n");
  return former;
}

function read(
  env: Environment,
  { name, parse }: (typeof SERVER_SETTINGS)[keyof typeof SERVER_SETTINGS],
): string | null {
  const text = env[name];
  if (text === undefined || text === "") return null;
  try {
    return parse(text);
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new SetupError("configuration", `${name} must be ${cause.message}.`);
  }
}
