import type { Command } from "commander";
import { configWith, isOnFiles } from "#boot/settings/config.ts";
import { engineOf } from "#boot/settings/engine.ts";
import { findMissingData } from "#boot/folder/data-dir.ts";
import { SetupError } from "#kernel/errors.ts";
import { formatInstant } from "#kernel/clock.ts";
import { toCounted } from "#kernel/text.ts";
import { addExamples } from "#cli/help/examples.ts";
import { addLocalCommand } from "#cli/input/options.ts";
import type { LocalOptions } from "#cli/installation/open.ts";
import { CommandError } from "#cli/screen/failure.ts";
import { toSize } from "#cli/screen/figures.ts";
import { writeJson } from "#cli/screen/output.ts";
import { toPrintable } from "#kernel/printable.ts";
import { withTransfer } from "#cli/screen/progress.ts";
import { createStyle } from "#cli/screen/style.ts";
import type { Terminal } from "#cli/screen/terminal.ts";

type Engine = Awaited<ReturnType<typeof engineOf>>;
type LedgerCheck = NonNullable<Awaited<ReturnType<Engine["checkLedger"]>>>;
type LedgerFinding = LedgerCheck["findings"][number];

/** Beyond it the others are counted: one cause mostly has many. */
const FINDINGS_SHOWN_MAX = 20;

/** `lockport ledger …`: what looks after the recorded usage itself. */
export function addCommands(program: Command, terminal: Terminal): void {
  const ledger = program.command("ledger").description("whether the recorded usage adds up");
  const command = addLocalCommand(
    ledger,
    "check",
    "compare journal, events and totals: nothing missing, nothing counted twice",
  ).action(async (options: LocalOptions) => {
    const config = configWith(terminal.env, { PROXY_DATA_DIR: options.dataDir });
    const missing = isOnFiles(config) ? findMissingData(config) : null;
    if (missing !== null) throw new SetupError("configuration", `${missing.finding}: ${missing.advice}.`);
    const { dataDir, database } = config;
    const place = database.kind === "postgres" ? `the schema ${database.schema}` : dataDir;
    const engine = await engineOf(config);
    const checked = await withTransfer(terminal, ({ signal, step }) =>
      engine.checkLedger({
        dataDir,
        database,
        signal,
        onShare: (share) => step("adding up the ledger", share),
      }),
    );
    if (checked === null) {
      throw new SetupError(
        "configuration",
        `There is no ledger in ${place} yet: the first start of a server makes it.`,
      );
    }
    if (options.json === true) writeJson(terminal, toView(checked));
    else writeChecked(terminal, checked);
    if (checked.findings.length > 0) {
      throw new CommandError(
        "failure",
        `The ledger does not add up in ${toCounted(checked.findings.length, "place")}: keep a copy of ${place}, and compare with a backup.`,
      );
    }
  });
  command.addHelpText(
    "after",
    "\nIt works beside a running server and on a folder without one, and changes nothing. It ends with 1 when something does\nnot add up.",
  );
  addExamples(command, ["lockport ledger check", "lockport ledger check --json | jq .findings"]);
}

function toView({ events, rowsFromUs, journal, findings }: LedgerCheck) {
  return {
    ok: findings.length === 0,
    events,
    rows_from: rowsFromUs === 0 ? null : formatInstant(rowsFromUs),
    journal: {
      checked_requests: journal.checkedEnds,
      waiting_requests: journal.waitingEnds,
      waiting_bytes: journal.waitingBytes,
    },
    findings,
  };
}

function writeChecked(terminal: Terminal, { events, rowsFromUs, journal, findings }: LedgerCheck): void {
  const style = createStyle(terminal.env, terminal.screens.data);
  const write = (line: string) => terminal.writeData(`${line}\n`);
  const since = rowsFromUs === 0 ? "" : ` since ${formatInstant(rowsFromUs)}`;
  write(`added up: ${toCounted(events, "request")}${since}, by hour, day, month and value`);
  write(`looked for: ${toCounted(journal.checkedEnds, "request")} that the journal still tells of`);
  if (journal.waitingBytes > 0) {
    write(
      `not in the database yet: ${toCounted(journal.waitingEnds, "request")} (${toSize(journal.waitingBytes)} of the journal), which the server brings in`,
    );
  }
  if (findings.length === 0) write(style.good("nothing is missing or counted twice"));
  for (const finding of findings.slice(0, FINDINGS_SHOWN_MAX))
    write(style.bad(toPrintable(toSentence(finding))));
  if (findings.length > FINDINGS_SHOWN_MAX)
    write(`… and ${findings.length - FINDINGS_SHOWN_MAX} more: --json has all`);
}

function toSentence({ where, what, expected, stored, rows }: LedgerFinding): string {
  const gap = stored - expected;
  const off = gap === 0 ? "" : `: ${toCounted(Math.abs(gap), "request")} ${gap < 0 ? "missing" : "too many"}`;
  return `${where}: ${what}${off} (${toCounted(rows, "row")} wrong, ${stored} for ${expected})`;
}
