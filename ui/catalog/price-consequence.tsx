import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useEffect, useState } from "react";
import { UNIT_TABLE } from "#kernel/units.ts";
import { type PricePreview, pricePreviewQuery, type PriceWish } from "../api/catalog.ts";
import { Cost } from "../components/cost.tsx";
import { formatChange, formatCount } from "../text/format.ts";

/** A person who types is asked about when they pause. */
const PAUSE_MS = 250;
/** More are counted, not named. */
const NAMES_SHOWN_MAX = 4;

export interface PriceConsequenceProps {
  /** Null: nothing is changed. */
  readonly wish: PriceWish | null;
  /** The name that is changed, which needs no mention. */
  readonly name: string;
}

/** Which names a price would hold for, and what the last 30 days would have cost: before it is saved. */
export function PriceConsequence({ wish, name }: PriceConsequenceProps) {
  const settled = useSettled(wish);
  const { data, error, isPlaceholderData } = useQuery({
    ...pricePreviewQuery(settled ?? NOTHING),
    enabled: settled !== null,
  });
  if (wish === null) return null;
  // What the server refuses is told by the field when it is saved.
  if (error !== null) return null;
  return (
    <div
      role="status"
      aria-busy={isPlaceholderData}
      className="flex min-h-10 flex-col gap-1 text-xs text-ink-soft"
    >
      {data === undefined || isPlaceholderData || settled === null ? (
        <p>Counting what it would mean…</p>
      ) : (
        <Told preview={data} name={name} />
      )}
    </div>
  );
}

const NOTHING: PriceWish = { entries: [] };

interface ToldProps {
  readonly preview: PricePreview;
  readonly name: string;
}

function Told({ preview, name }: ToldProps) {
  const { names } = preview;
  if (names.length === 0) return <p>No price in force would change.</p>;
  const others = names.filter((other) => other.name !== name || other.kind === "relay");
  const used = names.filter(({ requests }) => requests > 0);
  const before = sum(used.map(({ cost_before }) => cost_before));
  const after = sum(used.map(({ cost_after }) => cost_after));
  const requests = used.reduce((total, row) => total + row.requests, 0);
  const unpriced = [...new Set(used.flatMap((row) => row.unpriced_after))];
  return (
    <>
      <p className="text-ink">
        {requests === 0 ? (
          "No requests in the last 30 days."
        ) : (
          <>
            Last 30 days: <Amount value={before} /> at the prices of now, <Amount value={after} /> at these
            {before !== null && after !== null && before > 0 && ` (${formatChange(after / before - 1)})`}.
          </>
        )}
      </p>
      {requests > 0 && (
        <p>
          The same {formatCount(requests)} {requests === 1 ? "request" : "requests"} at other prices; what was
          recorded stays.
          {unpriced.length > 0 && ` Without a price: ${unpriced.map(toWord).join(", ")}.`}
          {names.some((row) => row.cache_writes_as_input) &&
            " Cache writes are counted at the price of input."}
        </p>
      )}
      {requests > 0 && names.some((row) => row.conditions_left_out !== undefined) && (
        <p>
          Variants that depend on a request’s length or hour are not counted here: sums do not tell which
          requests meet them.
        </p>
      )}
      {others.length > 0 && <p>It also holds for {toNames(others)}.</p>}
      {preview.truncated && <p>There are more names than are counted here.</p>}
    </>
  );
}

function Amount({ value }: { readonly value: number | null }): ReactNode {
  return value === null ? "unpriced" : <Cost value={value} />;
}

function toNames(rows: PricePreview["names"]): string {
  const names = rows.map(({ name, kind }) => (kind === "relay" ? `relayed requests for ${name}` : name));
  const rest = names.length - NAMES_SHOWN_MAX;
  const shown = names.slice(0, NAMES_SHOWN_MAX).join(", ");
  return rest > 0 ? `${shown} and ${formatCount(rest)} more` : shown;
}

function toWord(unit: keyof typeof UNIT_TABLE): string {
  return UNIT_TABLE[unit].label.toLowerCase();
}

/** Null when none of them is priced. */
function sum(costs: readonly (number | null)[]): number | null {
  return costs.reduce((total, cost) => (cost === null ? total : (total ?? 0) + cost), null);
}

/** The wish, once it has stood for a moment; null before. */
function useSettled(wish: PriceWish | null): PriceWish | null {
  const text = JSON.stringify(wish);
  const [settled, setSettled] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled === text ? wish : null;
}
