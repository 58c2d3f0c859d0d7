import type { Command } from "commander";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { writeJson } from "#cli/screen/output.ts";
import { withProgress } from "#cli/screen/progress.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

/** `lockport notice …`: what the webhook of `PROXY_NOTICE_URL` gets. */
export function addCommands(program: Command, terminal: Terminal): void {
  const notice = program.command("notice").description("what a webhook is told");
  const command = addCommand(notice, "test", "send a test notice to PROXY_NOTICE_URL").action(
    (options: InstallationOptions) =>
      withInstallation(terminal, options, async ({ api }) => {
        const sent = await withProgress(terminal, "sending a notice, for at most 10 s", () =>
          api.call("POST /admin/v1/notices/test"),
        );
        if (options.json === true) writeJson(terminal, sent);
        else if (sent.delivered) terminal.writeData(`delivered: the webhook answered ${sent.status}\n`);
        if (!sent.delivered) throw new CommandError("unreachable", toSentence(sent));
      }),
  );
  command.addHelpText(
    "after",
    "\nIt takes PROXY_NOTICE_URL and PROXY_NOTICE_SECRET of its own environment; with --url, those of that server. It ends\nwith 69 when the webhook does not answer with a status of 2xx.",
  );
  addExamples(command, [
    "lockport notice test",
    "lockport notice test --url https://models.example.org --json",
  ]);
}

function toSentence({
  status,
  reason,
}: {
  readonly status: number | null;
  readonly reason: string | null;
}): string {
  if (status === null)
    return `The webhook did not answer (${reason}): look at PROXY_NOTICE_URL, and at the way to it.`;
  if (status >= 300 && status <= 399)
    return `The webhook answered ${status}, a redirect, which is not followed: set PROXY_NOTICE_URL to where it leads.`;
  return `The webhook answered ${status}: look at PROXY_NOTICE_URL, and at what its receiver says.`;
}
