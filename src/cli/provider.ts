import type { Command } from "commander";
import type { Provider } from "#catalog/provider.ts";
import { formatInstant } from "#kernel/clock.ts";
import { addLocalCommand, withLocal, writeJson, writeList, type LocalOptions } from "./command.ts";
import { collectPairs, readNumber, readTextFile } from "./input.ts";
import type { Terminal } from "./terminal.ts";

interface AddOptions extends LocalOptions {
  readonly baseUrl: string;
  readonly apiKeyFile?: string;
  readonly apiKey: boolean;
  readonly verifyTls: boolean;
  readonly caFile?: string;
  readonly timeoutConnect?: number;
  readonly timeoutRead?: number;
  readonly maxConcurrency?: number;
  readonly endpoint?: { readonly [endpoint: string]: string };
}

export function addProviderCommands(program: Command, terminal: Terminal): void {
  const provider = program.command("provider").description("upstream providers");

  addLocalCommand(provider, "list", "list providers").action((options: LocalOptions) =>
    withLocal(terminal, options, async ({ catalog }) => {
      const views = (await catalog.snapshot()).providers.map(toProviderView);
      writeList(terminal, options, {
        views,
        columns: ["name", "base_url", "enabled", "has_credential", "max_concurrency"],
      });
    }),
  );

  addLocalCommand(provider, "add <name>", "register a provider; on a terminal, asks for its API key")
    .requiredOption("--base-url <url>", "full URL including /v1")
    .option("--api-key-file <path>", "read the provider's API key from a file; - is stdin")
    .option("--no-api-key", "the provider needs no API key")
    .option("--no-verify-tls", "accept any certificate")
    .option("--ca-file <path>", "PEM file that is trusted instead of the system's roots")
    .option("--timeout-connect <seconds>", "default: 10", readNumber)
    .option("--timeout-read <seconds>", "default: 300; also the deadline of unary requests", readNumber)
    .option("--max-concurrency <requests>", "default: unlimited", readNumber)
    .option(
      "--endpoint <endpoint=url>",
      "URL of its own for chat, completions or embeddings; repeatable",
      collectPairs,
    )
    .action(async (name: string, options: AddOptions) => {
      const apiKey = await readApiKey(terminal, options);
      const caPem = options.caFile === undefined ? undefined : await readTextFile(options.caFile);
      await withLocal(terminal, options, async ({ catalog }) => {
        const draft = {
          name,
          baseUrl: options.baseUrl,
          apiKey,
          caPem,
          verifyTls: options.verifyTls,
          timeoutConnectSeconds: options.timeoutConnect,
          timeoutReadSeconds: options.timeoutRead,
          maxConcurrency: options.maxConcurrency,
          endpoints: options.endpoint,
        };
        const created = await catalog.createProvider(draft, null);
        if (options.json === true) writeJson(terminal, toProviderView(created));
        else terminal.writeMessage(`added provider ${created.name}\n`);
      });
    });
}

/** From a file, from stdin or asked for: never from the arguments, which every user of the machine can list. */
async function readApiKey(terminal: Terminal, options: AddOptions): Promise<string | undefined> {
  if (options.apiKeyFile === "-") return (await terminal.readStdin()).trim();
  if (options.apiKeyFile !== undefined) return (await readTextFile(options.apiKeyFile)).trim();
  if (!options.apiKey || !terminal.interactive) return undefined;
  return (await terminal.askHidden("API key of the provider (empty for none): ")).trim();
}

function toProviderView(provider: Provider) {
  return {
    name: provider.name,
    wire_format: provider.wireFormat,
    base_url: provider.baseUrl,
    has_credential: provider.sealedCredential !== null,
    verify_tls: provider.verifyTls,
    has_custom_ca: provider.caPem !== null,
    timeout_connect: provider.timeoutConnectSeconds,
    timeout_read: provider.timeoutReadSeconds,
    max_concurrency: provider.maxConcurrency,
    enabled: provider.enabled,
    created_at: formatInstant(provider.createdAtUs),
    endpoints: provider.endpoints,
  };
}
