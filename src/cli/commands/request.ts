import type { Command } from "commander";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { readReport } from "#cli/installation/report.ts";
import { writeFields } from "#cli/screen/output.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

/** `request`: what became of a request, by the id that its answer and its error message have. */
export function addCommands(program: Command, terminal: Terminal): void {
  const command = addCommand(program, "request <id>", "find one by its id, or why it was refused").action(
    (id: string, options: InstallationOptions) =>
      withInstallation(terminal, options, async (installation) => {
        const { body: found, notices } = await readReport(installation, () =>
          installation.api.callWithHeaders("GET /stats/requests/:id", { params: { id } }),
        );
        for (const notice of notices) terminal.writeMessage(`${notice}\n`);
        const { request, refusal } = found;
        writeFields(
          terminal,
          options,
          options.json === true ? found : (request ?? { outcome: "refused", ...refusal }),
        );
      }),
  );
  command.addHelpText(
    "after",
    `
The id stands in the header x-proxy-request-id of every answer and in each error message. A request is found once it
has ended. A refused one has left no row in the log: it is told with the code that its caller got, beside a server on
the data folder a second later. With --json both are there, one of them null.`,
  );
  addExamples(command, [
    "lockport request 019cdd2a-7c00-7000-8000-000000000008",
    "lockport request 019cdd2a-7c00-7000-8000-000000000008 --json | jq .refusal.code",
  ]);
}
