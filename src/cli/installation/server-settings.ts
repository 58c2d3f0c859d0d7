import type { Environment } from "#boot/settings/environment.ts";
import { parseConfig } from "#boot/settings/config.ts";
import { toOrigin, toText } from "#boot/settings/setting-values.ts";
import { SetupError } from "#kernel/errors.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

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
