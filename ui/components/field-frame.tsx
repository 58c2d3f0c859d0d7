import { type ReactNode, useId } from "react";
import { ApiFailure } from "../api/failure.ts";
import { classNames } from "./class-names.ts";
import { Icon } from "./icon.tsx";

/** Properties of every field besides its value. */
export interface FieldLook {
  readonly label: string;
  /** The label is for a screen reader only: a filter bar, a cell. */
  readonly labelHidden?: boolean | undefined;
  readonly hint?: ReactNode;
  readonly error?: string | null | undefined;
  readonly required?: boolean | undefined;
  readonly disabled?: boolean | undefined;
  readonly className?: string | undefined;
  /** The name that its form knows it by. */
  readonly name?: string | undefined;
}

export interface FieldIds {
  readonly control: string;
  readonly label: string;
  readonly hint: string;
  readonly error: string;
  /** For `aria-describedby`: the error and the hint, as far as they are there. */
  readonly describedBy: string | undefined;
}

/** The ids that tie a control to its label, hint and error. */
export function useFieldIds({ hint, error }: Pick<FieldLook, "hint" | "error">): FieldIds {
  const id = useId();
  const ids = { control: id, label: `${id}-label`, hint: `${id}-hint`, error: `${id}-error` };
  const parts = [hasError(error) && ids.error, hint !== undefined && hint !== null && ids.hint];
  const describedBy = parts.filter((part) => part !== false).join(" ");
  return { ...ids, describedBy: describedBy === "" ? undefined : describedBy };
}

export function hasError(error: string | null | undefined): error is string {
  return error !== null && error !== undefined && error !== "";
}

/**
 * The sentence of a refusal that names this field in its `param`, to stand at the field: `capabilities` also gets
 * `capabilities[1]`. Undefined when the refusal is about something else.
 */
export function toFieldError(failure: Error | null | undefined, param: string): string | undefined {
  if (!(failure instanceof ApiFailure) || failure.param === null) return undefined;
  const isAbout =
    failure.param === param || failure.param.startsWith(`${param}[`) || failure.param.startsWith(`${param}.`);
  return isAbout ? failure.message : undefined;
}

/** Properties that an input takes from its field besides its value. */
export function toInputProps(
  ids: FieldIds,
  props: FieldLook & { readonly placeholder?: string | undefined },
) {
  return {
    id: ids.control,
    name: props.name,
    placeholder: props.placeholder,
    required: props.required,
    disabled: props.disabled,
    "aria-invalid": hasError(props.error) || undefined,
    "aria-describedby": ids.describedBy,
  };
}

/** The look of a text control. */
export function toControlClass(text: keyof typeof TEXT_CLASS, size: "sm" | "md" = "md"): string {
  return classNames(CONTROL_CLASS, TEXT_CLASS[text], size === "sm" ? "h-7" : "h-8");
}

export interface FieldFrameProps extends FieldLook {
  readonly ids: FieldIds;
  readonly children: ReactNode;
  /** A label that is not a `<label>` for the control (Base UI ties its own). */
  readonly labelElement?: ReactNode;
}

/** Label above, control, then error and hint. */
export function FieldFrame(props: FieldFrameProps): ReactNode {
  const {
    ids,
    label,
    labelHidden = false,
    hint,
    error,
    required = false,
    className,
    children,
    labelElement,
  } = props;
  return (
    <div className={classNames("flex min-w-0 flex-col gap-1.5", className)}>
      {labelElement ?? (
        <label id={ids.label} htmlFor={ids.control} className={labelHidden ? "sr-only" : LABEL_CLASS}>
          {label}
          {required && <RequiredMark />}
        </label>
      )}
      {children}
      <FieldNotes ids={ids} hint={hint} error={error} />
    </div>
  );
}

/** The error and the hint below a control; they wait in a polite live region, so that a new error is read. */
export function FieldNotes({ ids, hint, error }: Pick<FieldFrameProps, "ids" | "hint" | "error">): ReactNode {
  return (
    <>
      <div aria-live="polite" className="empty:-mt-1.5">
        {hasError(error) && (
          <p id={ids.error} className="flex items-start gap-1.5 text-xs text-bad">
            <Icon name="warning" size={14} className="mt-px" />
            {error}
          </p>
        )}
      </div>
      {hint !== undefined && hint !== null && (
        <p id={ids.hint} className="text-xs text-ink-faint">
          {hint}
        </p>
      )}
    </>
  );
}

/** The control itself tells a screen reader, through `required`. */
export function RequiredMark(): ReactNode {
  return (
    <span aria-hidden className="text-bad">
      {" *"}
    </span>
  );
}

export const LABEL_CLASS = "text-xs font-medium text-ink";

/** The box of a text control; `aria-invalid` colours it. */
export const CONTROL_CLASS =
  "w-full min-w-0 rounded-control border border-line-strong bg-surface px-2.5 text-ink transition-colors duration-100 focus-visible:border-focus focus-visible:outline-offset-0 disabled:cursor-not-allowed disabled:border-line disabled:bg-sunken disabled:text-ink-faint aria-invalid:border-bad";

/** The text within it. Fixed-width text is a size smaller: at 14 px some fonts lose the underscore of a key. */
export const TEXT_CLASS = {
  plain: "text-sm leading-6",
  mono: "font-mono text-[0.8125rem] leading-6",
} as const;

/** Whether a field within holds what cannot be sent; the first such gets the focus. */
export function focusInvalid(fields: HTMLElement): boolean {
  const field = fields.querySelector("[aria-invalid=true]");
  if (!(field instanceof HTMLElement)) return false;
  field.focus();
  return true;
}
