import { InvalidArgumentError, Option, type Command } from "commander";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/help/examples.ts";
import { withInstallation } from "#cli/installation/open.ts";
import { addFilterOptions, toQuery, type FilterOptions } from "#cli/input/filters.ts";
import { describeUnknownFilters } from "./filter-names.ts";
import { followRequests, POLL_MS } from "./follow.ts";
import type { Installation } from "#cli/installation/client.ts";
import type { ReadRequests } from "#cli/installation/log-tail.ts";
import { readReport } from "#cli/installation/report.ts";
import { createRequestWriter } from "./request-lines.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

const LINES_DEFAULT = 20;

interface TailOptions extends FilterOptions {
  readonly follow?: true;
  readonly lines: number;
}

export function addCommands(program: Command, terminal: Terminal): void {
  const requests = program.command("requests").description("the request log: metadata, never content");

  const tail = addFilterOptions(
    addCommand(requests, "tail", "show the newest requests, the newest last")
      .addOption(
        new Option("-f, --follow", "go on with what ends from now on, until Ctrl-C").conflicts("until"),
      )
      .option("-n, --lines <count>", `how many, at most ${PAGE_LIMIT_MAX}`, readLines, LINES_DEFAULT),
    { outcomes: true },
  ).action((options: TailOptions) => {
    const query = toQuery(options, terminal.clock);
    if (options.follow !== true) {
      return withInstallation(terminal, options, async (installation) => {
        const limit = String(Math.max(1, options.lines));
        const { body, notices } = await toReader(installation)({ ...query, limit });
        for (const notice of notices) terminal.writeMessage(`${notice}\n`);
        const rows = options.lines === 0 ? [] : body.requests.toReversed();
        createRequestWriter(terminal, options)(rows);
        if (rows.length === 0 && options.lines > 0 && options.json !== true)
          terminal.writeMessage(
            `No requests in this window.\n${await describeUnknownFilters(installation.api, options)}`,
          );
      });
    }
    const end = terminal.watchEnd();
    return withInstallation(
      terminal,
      options,
      async (installation) => {
        const write = createRequestWriter(terminal, options);
        await followRequests({
          terminal,
          read: toReader(installation),
          query,
          end,
          write,
          lines: options.lines,
        });
      },
      end,
    );
  });
  tail.addHelpText(
    "after",
    `
With --json each request is one line of JSON. Times are the arrival, in UTC; a request is shown when it has ended.
With -f the log is looked at every ${POLL_MS / 1000} s; a server that cannot be reached for a while is waited for.`,
  );
  addExamples(tail, [
    "lockport requests tail",
    "lockport requests tail -f --outcome failed",
    "lockport requests tail -n 500 --principal ada --json | jq .duration_ms",
  ]);
}

function toReader(installation: Installation): ReadRequests {
  return (query) =>
    readReport(installation, () =>
      installation.api.callWithHeaders("GET /stats/requests", { query: { ...query } }),
    );
}

function readLines(text: string): number {
  const count = /^[0-9]{1,3}$/.test(text) ? Number(text) : -1;
  if (count < 0 || count > PAGE_LIMIT_MAX) {
    throw new InvalidArgumentError(`It must be a whole number from 0 to ${PAGE_LIMIT_MAX}.`);
  }
  return count;
}
