import type { Command } from "commander";
import { formatCatalog } from "#interchange/catalog-text.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { addCommand, addDataDirOption, urlOption } from "#cli/input/options.ts";
import { readBy, readMonth } from "#cli/input/report.ts";
import { addExamples } from "#cli/screen/help.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { writeJson, toPrintableLines } from "#cli/screen/output.ts";
import { withProgress } from "#cli/screen/progress.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { parseCurrency } from "#views/focus.ts";

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
  addFocus(command, terminal);
  addExamples(command, [
    "lockport export > catalog.yaml",
    "lockport export --people > lockport.yaml",
    "lockport export --url https://models.example.org | diff catalog.yaml -",
  ]);
}

interface FocusOptions extends InstallationOptions {
  readonly month?: string;
  readonly currency?: string;
}

function addFocus(parent: Command, terminal: Terminal): void {
  const command = addDataDirOption(
    parent.command("focus").description("write the costs of a month as CSV in the columns of FOCUS"),
  )
    .addOption(urlOption())
    .option("--month <month>", "such as 2026-03, UTC; absent: the present one", readMonth)
    .option("--currency <code>", "the currency that the prices are in; absent: USD", (text: string) =>
      readBy(() => parseCurrency(text), text),
    )
    .action((_: unknown, inner: Command) => {
      // A word that both know, such as --url, is taken by the command above, which stands before it.
      const options: FocusOptions = inner.optsWithGlobals();
      return withInstallation(terminal, options, async ({ api }) => {
        const { month, currency } = options;
        const csv = await api.readCsv("GET /stats/focus", { query: { month, currency } });
        const decoder = new TextDecoder();
        for await (const chunk of csv) {
          const text = decoder.decode(chunk, { stream: true });
          // A label may hold what a screen acts on; a file gets the very bytes.
          if (!(await terminal.deliverData(terminal.screens.data ? toPrintableLines(text) : text))) return;
        }
      });
    });
  command.addHelpText(
    "after",
    `
FOCUS 1.4 is the FinOps Open Cost and Usage Specification: one row for each day, model, unit, tier, person and key.
Of the whole team for an admin, of anybody else its own. What has no price has an empty cost, and the reason in
x_UnpricedReason. --currency is written, nothing is converted.`,
  );
  addExamples(command, [
    "lockport export focus --month 2026-03 > focus-2026-03.csv",
    "lockport export focus --currency EUR --url https://models.example.org",
  ]);
}
