import type { Command } from "commander";
import { addExamples } from "#cli/help/examples.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

export function addCommands(program: Command, terminal: Terminal): void {
  const command = program
    .command("openapi")
    .description("print the OpenAPI 3.1 document of the interface")
    .option("--json", "as always: the document is JSON")
    .action(async () => {
      // Loaded here and not above: no other command has need of it.
      const { toOpenApiText } = await import("#boot/local-api.ts");
      terminal.writeData(toOpenApiText());
    });
  addExamples(command, ["lockport openapi > openapi.json"]);
}
