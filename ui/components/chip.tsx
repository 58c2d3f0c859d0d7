import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { Icon } from "./icon.tsx";

export type Tone = "neutral" | "accent" | "good" | "warn" | "bad";

export interface ChipProps {
  readonly children: ReactNode;
  readonly tone?: Tone | undefined;
  readonly title?: string | undefined;
  /** Shows a button that takes the chip away. */
  readonly onRemove?: (() => void) | undefined;
  /** The name of that button, such as `Remove filter model: small-chat`. */
  readonly removeLabel?: string | undefined;
}

/** A small labelled thing: a filter, a tag, a capability. Long text is cut with its whole in the title. */
export function Chip(props: ChipProps): ReactNode {
  const { children, tone = "neutral", title, onRemove, removeLabel } = props;
  const whole = title ?? (typeof children === "string" ? children : undefined);
  return (
    <span
      title={whole}
      className={classNames(
        "inline-flex h-6 max-w-full min-w-0 items-center gap-1 rounded-full border text-xs font-medium whitespace-nowrap",
        onRemove === undefined ? "px-2" : "pl-2",
        tone === "neutral" ? "border-line" : "border-transparent",
        TONE[tone],
      )}
    >
      <span className="truncate">{children}</span>
      {onRemove !== undefined && (
        <button
          type="button"
          aria-label={removeLabel}
          onClick={onRemove}
          className="flex size-6 shrink-0 items-center justify-center rounded-full hover:bg-hover hover:text-ink focus-visible:outline-offset-0"
        >
          <Icon name="close" size={12} />
        </button>
      )}
    </span>
  );
}

/** A state in a word or a number: quieter and squarer than a chip, never pressed. */
export function Badge({
  children,
  tone = "neutral",
  title,
}: Pick<ChipProps, "children" | "tone" | "title">): ReactNode {
  return (
    <span
      title={title}
      className={classNames(
        "inline-flex h-5 min-w-0 items-center rounded px-1.5 text-xs font-medium whitespace-nowrap",
        TONE[tone],
      )}
    >
      {children}
    </span>
  );
}

const TONE = {
  neutral: "bg-sunken text-ink-soft",
  accent: "bg-accent-soft text-accent",
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
} as const satisfies Record<Tone, string>;
