import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseConfig, type Config } from "#boot/settings/config.ts";
import type { Environment } from "#boot/settings/environment.ts";
import { SETTINGS } from "#boot/settings/settings.ts";
import { SetupError } from "#kernel/errors.ts";
import { SECRET_KEY_NAME, ADMIN_PASSWORD_NAME } from "#storage/files/data-files.ts";
import { toFailure, toOk, toWarning, type Check } from "./check.ts";

const SECRET_SETTINGS = new Set<string>([
  SETTINGS.secretKey.name,
  SETTINGS.adminPassword.name,
  SETTINGS.oidcClientSecret.name,
  SETTINGS.apiKey.name,
  // Who knows the URL of a chat's webhook may write to it.
  SETTINGS.noticeUrl.name,
  SETTINGS.noticeSecret.name,
]);
/** It holds the user's password; the path of a file does not. */
const isPostgresUrl = (name: string, text: string) =>
  name === SETTINGS.databaseUrl.name && !text.startsWith("sqlite:");
/** Unset, these are kept in the data folder. */
const FILE_SETTINGS: { readonly [name: string]: string } = {
  [SETTINGS.secretKey.name]: SECRET_KEY_NAME,
  [SETTINGS.adminPassword.name]: ADMIN_PASSWORD_NAME,
};

export interface SettingSource {
  readonly name: string;
  readonly source: "flag" | "environment" | "file" | "default";
  /** The value as an operator writes it; null for a secret, and when there is none. */
  readonly value: string | null;
}

interface SettingsFound {
  readonly check: Check;
  readonly sources: readonly SettingSource[];
  /** Null when they are not valid. */
  readonly config: Config | null;
}

/** The settings of this process with where each comes from; `flags` go before variables. */
export function checkSettings(env: Environment, flags: Environment): SettingsFound {
  const given = Object.fromEntries(Object.entries(flags).filter(([, value]) => value !== undefined));
  try {
    const config = parseConfig({ ...env, ...given });
    const sources = listSources(env, given, config.dataDir);
    const set = sources.filter(({ source }) => source === "environment" || source === "flag").length;
    const { ignoredVariables } = config;
    const check =
      ignoredVariables.length === 0
        ? toOk("settings", `${set} set, ${sources.length - set} by default`)
        : toWarning(
            "settings",
            `ignored, since other programs use the name: ${ignoredVariables.join(", ")}`,
            "None of them is a setting of Lockport: docs/configuration.md lists those.",
          );
    return { check, sources, config };
  } catch (cause) {
    if (!(cause instanceof SetupError)) throw cause;
    const check = toFailure(
      "settings",
      cause.message,
      "Correct it: nothing starts before, and nothing else was checked.",
    );
    return { check, sources: listSources(env, given, null), config: null };
  }
}

/** A file is a source once it is there: the password's is gone for good when a password was set otherwise. */
function listSources(env: Environment, given: Environment, dataDir: string | null): readonly SettingSource[] {
  return Object.values(SETTINGS).map(({ name, fallback }): SettingSource => {
    const text = given[name] ?? env[name];
    if (text === undefined || text === "") {
      const file = FILE_SETTINGS[name];
      return file !== undefined && dataDir !== null && existsSync(join(dataDir, file))
        ? { name, source: "file", value: file }
        : { name, source: "default", value: fallback };
    }
    const source = given[name] === undefined ? "environment" : "flag";
    return { name, source, value: SECRET_SETTINGS.has(name) || isPostgresUrl(name, text) ? null : text };
  });
}
