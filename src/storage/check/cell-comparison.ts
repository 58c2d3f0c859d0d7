import { type CellColumns, type OpenCellRow, withoutEmpty } from "#storage/cells/cells.ts";
import { CELL_MEASURES } from "#storage/cells/measures.ts";
import type { LedgerFinding } from "#storage/ledger-check.ts";

const ROUNDING = 1e-12;

interface Sides {
  readonly expected: CellColumns;
  readonly stored: CellColumns;
}

/** Compares the first measures of cells. What was taken out of a sealed row is beside it until the next maintenance. */
export function compareCells(
  sides: Sides,
  measuresMax = CELL_MEASURES.length,
): Pick<LedgerFinding, "rows" | "expected" | "stored"> {
  const [expected, stored] = [withoutEmpty(sides.expected), withoutEmpty(sides.stored)];
  const rowOf = new Map(Array.from(stored.combinations, (_, row) => [toKey(stored, row), row]));
  let differing = 0;
  for (let row = 0; row < expected.count; row += 1) {
    const key = toKey(expected, row);
    const other = rowOf.get(key) ?? -1;
    rowOf.delete(key);
    const isSame = CELL_MEASURES.slice(0, measuresMax).every(({ adds }, measure) => {
      const [left, right] = [expected.measures[measure]?.[row], stored.measures[measure]?.[other]];
      return left === right || (adds === "reported" && isNear(left, right));
    });
    if (!isSame) differing += 1;
  }
  return { rows: differing + rowOf.size, expected: countRequests(expected), stored: countRequests(stored) };
}

/** The rows of cells as those of `open_cell` are read. */
export function toOpenCellRows(cells: CellColumns): readonly OpenCellRow[] {
  return Array.from(cells.combinations, (combination, row) => {
    const values = CELL_MEASURES.map(({ name, adds }, measure) => {
      const value = cells.measures[measure]?.[row] ?? 0;
      return [name, adds === "reported" && value === -1 ? null : value] as const;
    });
    return { ...Object.fromEntries(values), combination, result: cells.results[row] ?? 0 };
  });
}

function toKey({ combinations, results }: CellColumns, row: number): string {
  return `${combinations[row]} ${results[row]}`;
}

/** The last digits of a sum of fractions depend on the order of the additions. What is not reported is -1. */
function isNear(left: number | undefined, right: number | undefined): boolean {
  if (left === undefined || right === undefined || left === -1 || right === -1) return false;
  return Math.abs(left - right) <= ROUNDING * Math.abs(right);
}

function countRequests({ measures: [requests] }: CellColumns): number {
  return requests?.reduce((sum, count) => sum + count, 0) ?? 0;
}
