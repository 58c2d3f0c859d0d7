import type { ReactNode } from "react";
import { Absent } from "../components/empty.tsx";
import { formatCount, formatCountCompact } from "../text/format.ts";
import { toChange } from "./totals.ts";
import type { Compared } from "./use-compared.ts";

/** What a tile has room for. */
const WHOLE_MAX = 100_000;

/** A count in a tile, the whole number in its title. */
export function TileCount({ value }: { readonly value: number | null }) {
  if (value === null) return <Absent />;
  return <span title={formatCount(value)}>{formatTileCount(value)}</span>;
}

export function formatTileCount(count: number): string {
  return count < WHOLE_MAX ? formatCount(count) : formatCountCompact(count);
}

/** How a figure has changed compared with the previous window, or why that is unknown; nothing where nothing is compared. */
export function toComparison<Figures>(
  { now, before }: Compared<Figures>,
  isCompared: boolean,
  of: (figures: Figures) => number | null,
): { readonly change?: number; readonly hint?: ReactNode } {
  const figure = now === null ? null : of(now);
  if (!isCompared || figure === null) return {};
  // Short enough for one line of the narrowest tile: another line would move all that is below.
  if (before === null)
    return { hint: <span title="The previous window is not known completely">unknown</span> };
  const change = toChange(figure, of(before));
  return change === null ? { hint: "none before" } : { change };
}
