import { type ReactNode } from "react";
import { type Quantities, type Unit, UNITS } from "#kernel/units.ts";
import { formatCount, formatCountCompact } from "../text/format.ts";
import { Absent } from "./absent.tsx";

/** What a metered unit is called on the page. */
export const UNIT_LABEL = {
  input_tokens: "Input tokens",
  output_tokens: "Output tokens",
  cached_input_tokens: "Cached input tokens",
  audio_seconds: "Audio seconds",
} as const satisfies Record<Unit, string>;

/** The header of a column of prices or quantities. */
export const UNIT_HEADER = {
  input_tokens: "Input",
  output_tokens: "Output",
  cached_input_tokens: "Cached",
  audio_seconds: "Audio",
} as const satisfies Record<Unit, string>;

const UNIT_SHORT = {
  input_tokens: "in",
  output_tokens: "out",
  cached_input_tokens: "cached",
  audio_seconds: "s audio",
} as const satisfies Record<Unit, string>;

export interface UnitsProps {
  readonly units: Quantities;
}

/** Quantities in one line, `12.3k in · 840 out`; the whole numbers are in the title. None at all is a dash. */
export function Units({ units }: UnitsProps): ReactNode {
  const parts = UNITS.flatMap((unit) => {
    const quantity = units[unit];
    return quantity === undefined ? [] : [{ unit, quantity }];
  });
  if (parts.length === 0) return <Absent />;
  return (
    <span
      className="whitespace-nowrap"
      title={parts.map(({ unit, quantity }) => `${UNIT_LABEL[unit]}: ${formatCount(quantity)}`).join("\n")}
    >
      {parts.map(({ unit, quantity }, index) => (
        <span key={unit}>
          {index > 0 && <span className="text-ink-faint"> · </span>}
          {formatCountCompact(quantity)} <span className="text-ink-faint">{UNIT_SHORT[unit]}</span>
        </span>
      ))}
    </span>
  );
}
