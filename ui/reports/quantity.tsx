import { Absent } from "../components/empty.tsx";
import { formatCount, formatCountCompact } from "../text/format.ts";

/** Tokens in a narrow cell, the whole number in its title; a dash where no provider reported any. */
export function Quantity({ value }: { readonly value: number | null | undefined }) {
  if (value === null || value === undefined) return <Absent />;
  return <span title={formatCount(value)}>{formatCountCompact(value)}</span>;
}
