/** A cell of a chart that is a grid, in pixels. */
export interface CellBox {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

const MOVES = new Map([
  ["ArrowLeft", { down: 0, across: -1 }],
  ["ArrowRight", { down: 0, across: 1 }],
  ["ArrowUp", { down: -1, across: 0 }],
  ["ArrowDown", { down: 1, across: 0 }],
]);
const DAYS_OF_WEEK = 7;

/** One path around many cells, so that a shade is one element whatever the number of cells. */
export function toCellsPath(boxes: Iterable<CellBox>): string {
  let path = "";
  for (const { x, y, width, height } of boxes) path += `M${x},${y}h${width}v${height}h${-width}Z`;
  return path;
}

/** The cell that a key leads to in rows of `columns` cells; the first from nowhere, null for a key that leads nowhere. */
export function moveInRows(
  cursor: number | null,
  key: string,
  { columns, count }: { readonly columns: number; readonly count: number },
): number | null {
  const move = MOVES.get(key);
  if (key === "Home") return count === 0 ? null : (cursor ?? 0) - ((cursor ?? 0) % columns);
  if (key === "End") return count === 0 ? null : (cursor ?? 0) - ((cursor ?? 0) % columns) + columns - 1;
  if (move === undefined || count === 0) return null;
  if (cursor === null) return 0;
  const { down, across } = move;
  const column = Math.min(columns - 1, Math.max(0, (cursor % columns) + across));
  const row = Math.min(count / columns - 1, Math.max(0, Math.floor(cursor / columns) + down));
  return row * columns + column;
}

/** The day that a key leads to where weeks are columns; the last from nowhere, null for a key that leads nowhere. */
export function moveInWeeks(cursor: number | null, key: string, count: number): number | null {
  if (count === 0) return null;
  if (key === "Home") return 0;
  if (key === "End") return count - 1;
  const move = MOVES.get(key);
  if (move === undefined) return null;
  if (cursor === null) return count - 1;
  const target = cursor + move.down + move.across * DAYS_OF_WEEK;
  return target < 0 || target >= count ? cursor : target;
}
