import type { Command } from "commander";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { pairsOption } from "./choice.ts";
import { addFieldOptions, readFieldOptions } from "./field-options.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";
import { formatCommand } from "#cli/help/follow-up.ts";
import { collectPairs, readSecretInput } from "./input.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

/** What `provider add` and `provider set` have in common. */
export interface ProviderOptions extends InstallationOptions {
  readonly baseUrl?: string;
  readonly apiKeyFile?: string;
  /** False with `--no-api-key`. */
  readonly apiKey?: boolean;
  readonly endpoint?: { readonly [endpoint: string]: string };
}

const API_KEY_QUESTION = "API key of the provider: ";
const OPTIONAL_API_KEY_QUESTION = "API key of the provider (empty for none): ";

export function addProviderOptions(command: Command, { isNew }: { readonly isNew: boolean }): Command {
  command.option("--api-key-file <path>", "read the provider's API key from a file; - is stdin or a prompt");
  for (const field of Object.values(PROVIDER_SETTINGS)) addFieldOptions(command, field, { isNew });
  return command.addOption(
    pairsOption({
      flags: "--endpoint <endpoint=url>",
      description: "URL of its own for an endpoint, named by its capability; repeatable",
      keys: ENDPOINTS,
      collect: collectPairs,
    }),
  );
}

/** To be typed next, on the same installation. */
export function toSetCommand(name: string, change: readonly string[], options: InstallationOptions): string {
  const where = options.url === undefined ? [] : ["--url", options.url];
  return formatCommand(["provider", "set", name, ...change, ...where], options);
}

/** What these options say of a provider, as the interface takes it; what is not said is absent. */
export async function toProviderBody(options: ProviderOptions) {
  return {
    ...(options.baseUrl !== undefined && { base_url: options.baseUrl }),
    ...(await readFieldOptions(PROVIDER_SETTINGS, options)),
    ...(options.endpoint !== undefined && { endpoints: options.endpoint }),
  };
}

/**
 * The provider's API key, from a file, from stdin or asked for: never from the arguments, which every user of the machine
 * can list. Undefined when none was given; `ask` is whether a person is asked for one that was not.
 */
export async function readProviderKey(
  terminal: Terminal,
  options: ProviderOptions,
  { ask }: { readonly ask: boolean },
): Promise<string | undefined> {
  const { apiKeyFile: path } = options;
  if (path !== undefined) return readSecretInput(terminal, { path, question: API_KEY_QUESTION });
  if (!ask || options.apiKey === false || !terminal.interactive) return undefined;
  return (await terminal.askHidden(OPTIONAL_API_KEY_QUESTION)).trim();
}
