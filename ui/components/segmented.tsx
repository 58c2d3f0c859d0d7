import { type ReactNode } from "react";

export interface SegmentedOption<Value extends string> {
  readonly value: Value;
  readonly label: string;
}

export interface SegmentedProps<Value extends string> {
  /** The subject of the choice, for a screen reader. */
  readonly label: string;
  readonly options: readonly SegmentedOption<Value>[];
  readonly value: Value;
  readonly onValueChange: (value: Value) => void;
}

/** One of a few, all of them in sight: how a chart is drawn, what a table shows. */
export function Segmented<Value extends string>(props: SegmentedProps<Value>): ReactNode {
  const { label, options, value, onValueChange } = props;
  return (
    <div
      role="group"
      aria-label={label}
      className="flex max-w-full flex-wrap gap-0.5 rounded-control bg-sunken p-0.5"
    >
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          onClick={() => onValueChange(option.value)}
          className="h-7 rounded px-2 text-xs font-medium whitespace-nowrap text-ink-soft hover:text-ink aria-pressed:bg-surface aria-pressed:text-ink aria-pressed:shadow-[0_0_0_1px_var(--color-line)]"
        >
          {option.label}
        </button>
      ))}
    </div>
  );
}
