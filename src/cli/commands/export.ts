import type { Command } from "commander";
import { formatCatalog } from "#interchange/catalog-text.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { writeJson, toPrintableLines } from "#cli/screen/output.ts";
import { withProgress } from "#cli/screen/progress.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

interface ExportOptions extends InstallationOptions {
  readonly people?: true;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const command = addCommand(program, "export", "write the catalog as one file, without secrets")
    .option("--people", "with principals, keys and limits")
    .action(({ people, ...options }: ExportOptions) =>
      withInstallation(terminal, options, async ({ api }) => {
        const file = await withProgress(terminal, "reading the catalog", () =>
          api.call("GET /admin/v1/catalog", people === true ? { query: { people: "1" } } : {}),
        );
        if (people === true && file.principals === undefined)
          throw new CommandError("failure", "The server's version has no --people: update it first.");
        if (options.json === true) writeJson(terminal, file);
        // Text that a screen could act on stands in double quotes, where YAML has the same escapes as JSON.
        else terminal.writeData(toPrintableLines(formatCatalog(file)));
      }),
    );
  command.addHelpText(
    "after",
    `
YAML on stdout: providers, models, names, prices and pricing feeds, the same bytes for the same catalog.
Of a provider's API key it holds the name of an environment variable, of a trust root the name of a file.
With --people it also has principals, keys (without their secrets), and limits. Relay tokens, sessions and
usage are not part of it.`,
  );
  addExamples(command, [
    "lockport export > catalog.yaml",
    "lockport export --people > lockport.yaml",
    "lockport export --url https://models.example.org | diff catalog.yaml -",
  ]);
}
