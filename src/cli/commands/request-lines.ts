import { toReportUnits } from "#views/request-units.ts";
import { toAmount, toCount, toDuration, toMoment } from "#cli/screen/figures.ts";
import { toCell, writeJsonLine, writeLeftOut, type OutputOptions } from "#cli/screen/output.ts";
import { createStyle, type Style } from "#cli/screen/style.ts";
import { fitWidths } from "#cli/screen/table.ts";
import { truncateWidth } from "#cli/screen/truncate.ts";
import type { Terminal } from "#cli/screen/terminal.ts";
import type { RequestRow } from "#cli/installation/log-tail.ts";

interface Column {
  readonly name: string;
  /** Wide enough for most of what stands in it. */
  readonly columns: number;
  /** What a screen leaves of a text; absent: its cells are never cut. */
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
export function createRequestWriter(
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
