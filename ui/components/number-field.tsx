import { type FocusEventHandler, type KeyboardEventHandler, type ReactNode, useState } from "react";
import { classNames } from "./class-names.ts";
import { FieldFrame, type FieldLook, toControlClass, toInputProps, useFieldIds } from "./field-frame.tsx";

export interface NumberFieldProps extends FieldLook {
  /** Null is an empty field. */
  readonly value: number | null;
  /** Called with null while the text is empty or no number. */
  readonly onValueChange: (value: number | null) => void;
  readonly min?: number | undefined;
  readonly max?: number | undefined;
  readonly integer?: boolean | undefined;
  /** A unit before or after the number, such as `$` or `seconds`. */
  readonly prefix?: string | undefined;
  readonly suffix?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly size?: "sm" | "md" | undefined;
  readonly autoFocus?: boolean | undefined;
  /** Text that is typed then replaces the number. */
  readonly selectsOnFocus?: boolean | undefined;
  readonly onBlur?: FocusEventHandler<HTMLInputElement> | undefined;
  readonly onKeyDown?: KeyboardEventHandler<HTMLInputElement> | undefined;
}

/**
 * A number as people write it, with a point. A text field and not `type="number"`, whose wheel changes prices unnoticed and
 * whose browser drops what it cannot read.
 */
export function NumberField(props: NumberFieldProps): ReactNode {
  const { value, onValueChange, integer = false, prefix, suffix, size = "md" } = props;
  const [text, setText] = useState(() => toText(value));
  // The owner wrote another number: its text replaces what was typed, while "1." and "1.0" stay as they are.
  const shown =
    parseText(text).value === value || (value === null && !parseText(text).isNumber) ? text : toText(value);
  const error = findError(shown, props) ?? props.error;
  const ids = useFieldIds({ hint: props.hint, error });
  return (
    <FieldFrame {...props} error={error} ids={ids}>
      <div className="relative flex min-w-0 items-center">
        {prefix !== undefined && <Affix className="left-2.5">{prefix}</Affix>}
        <input
          {...toInputProps(ids, { ...props, error })}
          type="text"
          inputMode={integer ? "numeric" : "decimal"}
          autoComplete="off"
          value={shown}
          autoFocus={props.autoFocus}
          onKeyDown={props.onKeyDown}
          onBlur={props.onBlur}
          onFocus={props.selectsOnFocus === true ? ({ currentTarget }) => currentTarget.select() : undefined}
          aria-labelledby={ids.label}
          onChange={(event) => {
            setText(event.target.value);
            onValueChange(parseText(event.target.value).value);
          }}
          className={classNames(
            toControlClass("plain", size),
            prefix !== undefined && "pl-6",
            suffix !== undefined && "pr-20",
          )}
        />
        {suffix !== undefined && <Affix className="right-2.5">{suffix}</Affix>}
      </div>
    </FieldFrame>
  );
}

function Affix({
  children,
  className,
}: {
  readonly children: string;
  readonly className: string;
}): ReactNode {
  return (
    <span
      aria-hidden
      className={classNames("pointer-events-none absolute text-xs text-ink-faint", className)}
    >
      {children}
    </span>
  );
}

interface ReadNumber {
  readonly value: number | null;
  readonly isNumber: boolean;
}

function parseText(text: string): ReadNumber {
  const trimmed = text.trim();
  const number = Number(trimmed);
  // `Number` reads "0x10", "1e9" and "Infinity" as well, which no price or limit means; "1." is on its way to a number.
  return /^[+-]?(?:\d+\.?\d*|\.\d+)$/u.test(trimmed) && Number.isFinite(number)
    ? { value: number, isNumber: true }
    : { value: null, isNumber: false };
}

function findError(text: string, { min, max, integer = false }: NumberFieldProps): string | undefined {
  if (text.trim() === "") return undefined;
  const { value } = parseText(text);
  if (value === null) return "Enter a number such as 0.25";
  if (integer && !Number.isInteger(value)) return "Enter a whole number";
  if (min !== undefined && value < min) return `Enter ${min} or more`;
  if (max !== undefined && value > max) return `Enter ${max} or less`;
  return undefined;
}

/** Never with an exponent: 0.0000001 is written out. */
function toText(value: number | null): string {
  if (value === null) return "";
  const text = String(value);
  return text.includes("e-") ? value.toFixed(12).replace(/0+$/u, "") : text;
}
