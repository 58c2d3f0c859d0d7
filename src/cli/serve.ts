import type { Command } from "commander";
import type { RunningServer } from "#boot/server.ts";
import { addDataDirOption, configWith } from "./command.ts";
import type { Terminal } from "./terminal.ts";

interface ServeOptions {
  readonly host?: string;
  readonly port?: string;
  readonly dataDir?: string;
}

export function addServeCommand(program: Command, terminal: Terminal): void {
  addDataDirOption(program.command("serve").description("start the server"))
    .option("--host <address>", "address to listen on (before PROXY_HOST)")
    .option("--port <port>", "port to listen on (before PROXY_PORT)")
    .action(async (options: ServeOptions) => {
      const config = configWith(terminal.env, {
        PROXY_HOST: options.host,
        PROXY_PORT: options.port,
        PROXY_DATA_DIR: options.dataDir,
      });
      // Loaded here and not above: a local command has no need of the server.
      const { serve } = await import("#boot/serve.ts");
      await serve(config, (server) => terminal.writeData(toGreeting(server)));
    });
}

function toGreeting(server: RunningServer): string {
  const { adminPasswordPath } = server.services;
  const command = Bun.isStandaloneExecutable ? "lockport" : "npm run -s lockport --";
  return [
    `Lockport listens on ${server.url}`,
    ...(adminPasswordPath === null ? [] : [`Admin password: in the file ${adminPasswordPath}`]),
    `Next: ${command} admin bootstrap   (prints a first admin API key)`,
    "",
  ].join("\n");
}
