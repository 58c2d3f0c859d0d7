import type { Statement } from "../../api/reports.ts";
import { Cost } from "../../components/cost.tsx";
import { Absent } from "../../components/empty.tsx";
import { formatCount } from "../../text/format.ts";

export const PART_WORDS: { readonly [by in Statement["rows"][number]["by"]]: string } = {
  principal: "Person",
  key: "Key",
  tag: "Tag",
};

/** A count that has grown or shrunk, with its sign. */
export function Change({ value }: { readonly value: number }) {
  if (value === 0) return <Absent />;
  return (
    <span className="tabular-nums">{value > 0 ? `+${formatCount(value)}` : `−${formatCount(-value)}`}</span>
  );
}

interface DifferenceProps {
  readonly before: number | null;
  readonly now: number | null;
}

/** What more, or less, it cost; not known where one of the two had no price at all. */
export function Difference({ before, now }: DifferenceProps) {
  const difference = toDifference(before, now);
  if (difference === null || difference === 0) return <Absent />;
  return (
    <span className="whitespace-nowrap">
      {difference > 0 && "+"}
      <Cost value={difference} />
    </span>
  );
}

const DECIMALS = 12;

/** Costs have twelve decimals: what is behind them is noise of the subtraction. */
function toDifference(before: number | null, now: number | null): number | null {
  return before === null || now === null ? null : Number((now - before).toFixed(DECIMALS));
}
