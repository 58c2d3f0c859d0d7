import type { Command } from "commander";
import { AUTH_STYLES } from "#catalog/auth-style.ts";
import { ENDPOINTS } from "#catalog/endpoint.ts";
import { choiceOption, pairsOption } from "./choice.ts";
import type { InstallationOptions } from "#cli/installation/open.ts";
import { formatCommand } from "#cli/help/follow-up.ts";
import { collectPairs, readCaFile, readNumber, readSecretInput } from "./input.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

/** What `provider add` and `provider set` have in common. */
export interface ProviderOptions extends InstallationOptions {
  readonly baseUrl?: string;
  readonly apiKeyFile?: string;
  /** False with `--no-api-key`. */
  readonly apiKey?: boolean;
  readonly authStyle?: string;
  readonly verifyTls?: boolean;
  readonly caFile?: string;
  readonly timeoutConnect?: number;
  readonly timeoutRead?: number;
  readonly maxConcurrency?: number;
  readonly endpoint?: { readonly [endpoint: string]: string };
}

const API_KEY_QUESTION = "API key of the provider: ";
const OPTIONAL_API_KEY_QUESTION = "API key of the provider (empty for none): ";

export function addProviderOptions(command: Command): Command {
  return command
    .option("--api-key-file <path>", "read the provider's API key from a file; - is stdin or a prompt")
    .addOption(
      choiceOption(
        "--auth-style <style>",
        "how the API key is sent; default: bearer. Anthropic's API: x-api-key",
        AUTH_STYLES,
      ),
    )
    .option("--ca-file <path>", "PEM file that is trusted instead of the system's roots")
    .option("--timeout-connect <seconds>", "default: 10", readNumber)
    .option("--timeout-read <seconds>", "default: 300; also the deadline of unary requests", readNumber)
    .option("--max-concurrency <requests>", "default: unlimited, which is also 0", readNumber)
    .addOption(
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

/** The fields of a draft or a patch that these options say; what is not said is undefined. */
export async function toProviderSettings(options: ProviderOptions) {
  return {
    authStyle: options.authStyle,
    verifyTls: options.verifyTls,
    caPem: options.caFile === undefined ? undefined : await readCaFile(options.caFile),
    timeoutConnectSeconds: options.timeoutConnect,
    timeoutReadSeconds: options.timeoutRead,
    maxConcurrency: options.maxConcurrency,
    endpoints: options.endpoint,
  };
}

type ProviderSettings = Awaited<ReturnType<typeof toProviderSettings>> & {
  readonly baseUrl: string | undefined;
};

/** The settings as the interface spells them; JSON leaves out what is undefined. */
export function toProviderBody(settings: ProviderSettings) {
  return {
    base_url: settings.baseUrl,
    auth_style: settings.authStyle,
    verify_tls: settings.verifyTls,
    ca_pem: settings.caPem,
    timeout_connect: settings.timeoutConnectSeconds,
    timeout_read: settings.timeoutReadSeconds,
    max_concurrency: settings.maxConcurrency,
    endpoints: settings.endpoints,
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
