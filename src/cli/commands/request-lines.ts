import { toReportUnits } from "#views/request-units.ts";
import { toAmount, toCount, toDuration, toMoment } from "#cli/screen/figures.ts";
import { toCell, writeJsonLine, type OutputOptions } from "#cli/screen/output.ts";
import { createStyle, type Style } from "#cli/screen/style.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { RequestRow } from "#cli/installation/log-tail.ts";

/** Wide enough for most of what stands in them; what is longer pushes the rest of its line to the right. */
const COLUMNS = [
  ["TIME (UTC)", 19],
  ["PRINCIPAL", 14],
  ["MODEL", 20],
  ["PROVIDER", 14],
  ["OUTCOME", 14],
  ["STATUS", 6],
  ["DURATION", 9],
  ["IN", 9],
  ["OUT", 8],
  ["COST", 9],
  ["ERROR", 0],
] as const;
const FIGURES = new Set(["STATUS", "DURATION", "IN", "OUT", "COST"]);

/**
 * Writes rows of the request log, one on each line, as they come: the columns have fixed widths, since what follows is not
 * known. The heading comes before the first row.
 */
export function createRequestWriter(
  terminal: Terminal,
  options: OutputOptions,
): (rows: readonly RequestRow[]) => void {
  const style = createStyle(terminal.env, terminal.screens.data);
  let hasHeading = options.json === true;
  return (rows) => {
    if (!hasHeading) {
      hasHeading = true;
      terminal.writeData(`${style.bold(toLine(COLUMNS.map(([name]) => name)))}\n`);
    }
    for (const row of rows) {
      if (options.json === true) writeJsonLine(terminal, row);
      else terminal.writeData(`${toLine(toCells(row), toOutcomeStyle(row, style))}\n`);
    }
  };
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
    Object.keys(units).length === 0 ? "-" : toAmount(row.cost),
    toCell(row.error_kind),
  ].map((cell, index) => (index === COLUMNS.length - 1 && cell === "-" ? "" : cell));
}

const OUTCOME_COLUMN = COLUMNS.findIndex(([name]) => name === "OUTCOME");

function toLine(cells: readonly string[], styleOutcome: (text: string) => string = (text) => text): string {
  const padded = COLUMNS.map(([name, width], index) => {
    const cell = cells[index] ?? "";
    const blanks = " ".repeat(Math.max(0, width - Bun.stringWidth(cell)));
    if (FIGURES.has(name)) return blanks + cell;
    return (index === OUTCOME_COLUMN ? styleOutcome(cell) : cell) + blanks;
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
