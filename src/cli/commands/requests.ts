import type { Made } from "#cli/routes/route-command.ts";
import { InvalidArgumentError, Option, type Command } from "commander";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { addCommand } from "#cli/input/options.ts";
import { addExamples } from "#cli/screen/help.ts";
import { withInstallation, type InstallationOptions } from "#cli/installation/open.ts";
import {
  addFilterOptions,
  toQuery,
  type FilterOptions,
  readReport,
  type ReportQuery,
} from "#cli/input/report.ts";
import { describeUnknownFilters } from "#cli/installation/lists.ts";
import type { Installation } from "#cli/installation/client.ts";
import { type ReadRequests, openLogTail, type RequestRow } from "#cli/commands/log-tail.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import { isPassing, ProxyError } from "#kernel/errors.ts";
import { toCounted } from "#kernel/text.ts";
import { sleep } from "#kernel/timer.ts";
import { CommandError, Refusal } from "#cli/screen/failure.ts";
import { toReportUnits } from "#views/request-units.ts";
import {
  toAmount,
  toCount,
  toDuration,
  toMoment,
  toCell,
  writeJsonLine,
  writeLeftOut,
  type OutputOptions,
  createStyle,
  type Style,
  writeFields,
} from "#cli/screen/output.ts";
import { fitWidths, truncateWidth } from "#cli/screen/table.ts";

const LINES_DEFAULT = 20;

interface TailOptions extends FilterOptions {
  readonly follow?: true;
  readonly lines: number;
}

export function addCommands(program: Command, terminal: Terminal, { name }: Made): void {
  if (name === "request") addRequestCommand(program, terminal);
  else addTailCommand(program, terminal);
}

function addTailCommand(program: Command, terminal: Terminal): void {
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

/** Between two looks at the log. */
export const POLL_MS = 2_000;

export interface Following {
  readonly terminal: Pick<Terminal, "writeMessage">;
  readonly read: ReadRequests;
  /** The filters. */
  readonly query: ReportQuery;
  /** Count of rows that are shown at first. */
  readonly lines: number;
  readonly end: AbortSignal;
  readonly write: (rows: readonly RequestRow[]) => void;
}

/** Shows the newest rows and then every row that comes into the log, until `end`. Outages of a server are waited out. */
export async function followRequests(following: Following): Promise<void> {
  const { terminal, read, query, lines, end, write } = following;
  try {
    const log = await openLogTail(read, query);
    for (const notice of log.notices) terminal.writeMessage(`${notice}\n`);
    write(log.newest.slice(0, lines).toReversed());
    let isReached = true;
    while (!end.aborted) {
      await sleep(POLL_MS, end);
      if (end.aborted) break;
      try {
        const { rows, leftOutCount } = await log.readNew();
        write(rows);
        if (leftOutCount > 0)
          terminal.writeMessage(
            `${toCounted(leftOutCount, "more request")} ended meanwhile than can be shown here; the log has them.\n`,
          );
        if (!isReached) terminal.writeMessage("The server answers again.\n");
        isReached = true;
      } catch (cause) {
        if (!isAway(cause)) throw cause;
        if (isReached) terminal.writeMessage(`${cause.message.replace(/ Try again\.$/, "")} Trying again.\n`);
        isReached = false;
      }
    }
  } catch (cause) {
    // A request that was under way at the end was cut off on purpose.
    if (!end.aborted) throw cause;
  }
}

/** True for a server that is away or fails, and for a database that is away from a command which works on it. */
function isAway(cause: unknown): cause is Error {
  if (cause instanceof Refusal || cause instanceof ProxyError) return cause.code === "internal_error";
  return isPassing(cause) || (cause instanceof CommandError && cause.kind === "unreachable");
}

interface Column {
  readonly name: string;
  /** Wide enough for most of what stands in it. */
  readonly columns: number;
  /** Width that a screen leaves of a text; absent: its cells are never cut. */
  readonly least?: number;
  /** Left out by a narrow screen, the smallest number first; absent: never. */
  readonly spare?: number;
}

const COLUMNS: readonly Column[] = [
  { name: "TIME (UTC)", columns: 19 },
  { name: "PRINCIPAL", columns: 14, least: 8 },
  { name: "MODEL", columns: 20, least: 8 },
  { name: "PROVIDER", columns: 14, least: 8, spare: 1 },
  { name: "OUTCOME", columns: 14, least: 9 },
  { name: "STATUS", columns: 6, spare: 4 },
  { name: "DURATION", columns: 9, spare: 5 },
  { name: "IN", columns: 9, spare: 2 },
  { name: "OUT", columns: 8, spare: 3 },
  { name: "COST", columns: 9 },
  { name: "ERROR", columns: 16, least: 6 },
];
const FIGURES = new Set(["STATUS", "DURATION", "IN", "OUT", "COST"]);

/**
 * Writes rows of the request log, one on each line, as they come: the columns have fixed widths, since what follows is not
 * known. A screen cuts texts and leaves columns out, where it has no room for them; elsewhere nothing is cut. The heading
 * comes before the first row.
 */
function createRequestWriter(
  terminal: Terminal,
  options: OutputOptions,
): (rows: readonly RequestRow[]) => void {
  const style = createStyle(terminal.env, terminal.screens.data);
  const widths = terminal.columns === null ? null : fitColumns(terminal.columns);
  const toText = (cells: readonly string[], styleOutcome?: Style["good"]) =>
    toLine(cells, widths, styleOutcome);
  let hasHeading = options.json === true;
  return (rows) => {
    if (!hasHeading) {
      hasHeading = true;
      terminal.writeData(`${style.bold(toText(COLUMNS.map(({ name }) => name)))}\n`);
      const leftOut = COLUMNS.filter((_, index) => widths !== null && !widths.has(index));
      if (rows.length > 0)
        writeLeftOut(
          terminal,
          leftOut.map(({ name }) => name),
        );
    }
    for (const row of rows) {
      if (options.json === true) writeJsonLine(terminal, row);
      else terminal.writeData(`${toText(toCells(row), toOutcomeStyle(row, style))}\n`);
    }
  };
}

function fitColumns(room: number): ReadonlyMap<number, number> {
  const spare = COLUMNS.map(({ spare: order }, column) => ({ column, order: order ?? 0 }))
    .filter(({ order }) => order > 0)
    .toSorted((left, right) => left.order - right.order)
    .map(({ column }) => column);
  const wanted = COLUMNS.map(({ columns, least = columns }) => ({ columns, least }));
  return fitWidths(wanted, { spare, room });
}

function toCells(row: RequestRow): readonly string[] {
  const units = toReportUnits(row);
  return [
    toMoment(row.ts),
    toCell(row.principal),
    toCell(row.model),
    toCell(row.provider),
    toCell(row.outcome),
    toCell(row.status_code),
    toDuration(row.duration_ms),
    toCount(units.input_tokens),
    toCount(units.output_tokens),
    row.pending === true ? "pending" : Object.keys(units).length === 0 ? "-" : toAmount(row.cost),
    toCell(row.error_kind),
  ].map((cell, index) => (index === COLUMNS.length - 1 && cell === "-" ? "" : cell));
}

/** Without widths of a screen nothing is cut: what is longer pushes the rest of its line to the right. */
function toLine(
  cells: readonly string[],
  widths: ReadonlyMap<number, number> | null,
  styleOutcome: (text: string) => string = (text) => text,
): string {
  const padded = COLUMNS.flatMap(({ name, columns, least }, index) => {
    const width = widths === null ? columns : widths.get(index);
    if (width === undefined) return [];
    const whole = cells[index] ?? "";
    const cell = widths === null || least === undefined ? whole : truncateWidth(whole, width);
    const blanks = " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));
    if (FIGURES.has(name)) return [blanks + cell];
    return [(name === "OUTCOME" ? styleOutcome(cell) : cell) + blanks];
  });
  return padded.join("  ").trimEnd();
}

function toOutcomeStyle(row: RequestRow, style: Style): (text: string) => string {
  switch (row.outcome) {
    case "ok":
      return style.good;
    case "cancelled":
      return style.warn;
    default:
      return style.bad;
  }
}

/** `request`: what became of a request, by the id that its answer and its error message have. */
function addRequestCommand(program: Command, terminal: Terminal): void {
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
has ended. A refused one has left no row in the log: it is told with the code and the words that its caller got, beside a
server on the data folder a second later. With --json both are there, one of them null.`,
  );
  addExamples(command, [
    "lockport request 019cdd2a-7c00-7000-8000-000000000008",
    "lockport request 019cdd2a-7c00-7000-8000-000000000008 --json | jq .refusal.code",
  ]);
}
