import { type ReactNode } from "react";
import { REPORT_UNITS, type ReportQuantities, UNIT_TABLE } from "#kernel/units.ts";
import { formatCount, formatCountCompact } from "../text/format.ts";
import { Absent } from "./empty.tsx";

/** Quantities in one line, `12.3k in · 840 out`; the whole numbers are in the title. None at all is a dash. */
export function Units({ units }: { readonly units: ReportQuantities }): ReactNode {
  const parts = REPORT_UNITS.flatMap((unit) => {
    const quantity = units[unit];
    return quantity === undefined ? [] : [{ unit, quantity }];
  });
  if (parts.length === 0) return <Absent />;
  return (
    <span
      className="whitespace-nowrap"
      title={parts
        .map(({ unit, quantity }) => `${UNIT_TABLE[unit].label}: ${formatCount(quantity)}`)
        .join("\n")}
    >
      {parts.map(({ unit, quantity }, index) => (
        <span key={unit}>
          {index > 0 && <span className="text-ink-faint"> · </span>}
          {formatCountCompact(quantity)} <span className="text-ink-faint">{UNIT_TABLE[unit].short}</span>
        </span>
      ))}
    </span>
  );
}
