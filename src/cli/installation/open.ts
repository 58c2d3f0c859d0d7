import { configWith, type Config } from "#boot/settings/config.ts";
import { makeLocal, openLocal, type Local } from "#boot/local.ts";
import { createSystem } from "#boot/process/system.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { OutputOptions } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { Installation } from "./client.ts";
import { createLocalInstallation } from "./installation-local.ts";
import { createRemoteInstallation } from "./installation-remote.ts";
import { readApiKey, readServerUrl } from "./server-settings.ts";
import { formatAddress, toReachable } from "#boot/settings/listen-address.ts";
import { findServingAddress } from "#boot/folder/serving-address.ts";

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
