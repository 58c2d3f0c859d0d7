import { Checkbox } from "@base-ui/react/checkbox";
import { Switch } from "@base-ui/react/switch";
import { type ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { FieldNotes, type FieldIds, type FieldLook, hasError, useFieldIds } from "./field-frame.tsx";
import { Icon } from "./icon.tsx";

export interface ChoiceFieldProps extends FieldLook {
  readonly checked: boolean;
  readonly onCheckedChange: (checked: boolean) => void;
}

/** A box to tick; the label is pressed too. */
export function CheckboxField(props: ChoiceFieldProps): ReactNode {
  const ids = useFieldIds(props);
  return (
    <Choice field={props} ids={ids} notesClass="ml-6">
      <Checkbox.Root
        {...toChoiceProps(props, ids)}
        required={props.required ?? false}
        aria-invalid={hasError(props.error) || undefined}
        className="mt-0.5 flex size-4 shrink-0 items-center justify-center rounded border border-line-strong bg-surface text-accent-ink data-checked:border-accent data-checked:bg-accent data-disabled:border-line data-disabled:bg-sunken"
      >
        <Checkbox.Indicator className="flex">
          <Icon name="check" size={12} />
        </Checkbox.Indicator>
      </Checkbox.Root>
    </Choice>
  );
}

/** Something that is on or off, at once. */
export function SwitchField(props: ChoiceFieldProps): ReactNode {
  const ids = useFieldIds(props);
  return (
    <Choice field={props} ids={ids} notesClass="ml-11">
      <Switch.Root
        {...toChoiceProps(props, ids)}
        className="flex h-5 w-9 shrink-0 items-center rounded-full border border-line-strong bg-sunken px-0.5 transition-colors duration-100 data-checked:border-accent data-checked:bg-accent data-disabled:border-line data-disabled:bg-sunken"
      >
        <Switch.Thumb className="size-3.5 rounded-full bg-line-strong transition-transform duration-100 data-checked:translate-x-4 data-checked:bg-accent-ink data-disabled:bg-line-strong" />
      </Switch.Root>
    </Choice>
  );
}

function toChoiceProps({ checked, onCheckedChange, disabled = false }: ChoiceFieldProps, ids: FieldIds) {
  return {
    checked,
    disabled,
    onCheckedChange: (next: boolean) => onCheckedChange(next),
    "aria-labelledby": ids.label,
    "aria-describedby": ids.describedBy,
  };
}

interface ChoiceProps {
  readonly field: ChoiceFieldProps;
  readonly ids: FieldIds;
  /** Notes stand below the label. */
  readonly notesClass: string;
  readonly children: ReactNode;
}

function Choice({ field, ids, notesClass, children }: ChoiceProps): ReactNode {
  const { label, labelHidden = false, hint, error, className } = field;
  // Without notes there is no gap for them, so that the control stands in the middle of a cell.
  const hasNotes = hasError(error) || (hint !== undefined && hint !== null);
  return (
    <div className={classNames("flex min-w-0 flex-col", hasNotes && "gap-1", className)}>
      <label
        id={ids.label}
        className="flex min-h-6 w-fit max-w-full items-start gap-2 text-sm text-ink has-data-disabled:cursor-not-allowed has-data-disabled:text-ink-faint"
      >
        {children}
        <span className={labelHidden ? "sr-only" : "min-w-0"}>{label}</span>
      </label>
      <div className={classNames(notesClass, "flex flex-col gap-1")}>
        <FieldNotes ids={ids} hint={hint} error={error} />
      </div>
    </div>
  );
}
