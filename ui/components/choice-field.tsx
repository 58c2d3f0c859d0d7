import { Checkbox } from "@base-ui/react/checkbox";
import { Switch } from "@base-ui/react/switch";
import { type ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { FieldNotes, type FieldLook, hasError, useFieldIds } from "./field-frame.tsx";
import { Icon } from "./icon.tsx";

export interface CheckboxFieldProps extends FieldLook {
  readonly checked: boolean;
  readonly onCheckedChange: (checked: boolean) => void;
}

/** A box to tick; the label is pressed too. */
export function CheckboxField(props: CheckboxFieldProps): ReactNode {
  const { checked, onCheckedChange, disabled = false } = props;
  const ids = useFieldIds(props);
  return (
    <div className={classNames("flex min-w-0 flex-col", hasNotes(props) && "gap-1", props.className)}>
      <label id={ids.label} className={CHOICE_CLASS}>
        <Checkbox.Root
          checked={checked}
          disabled={disabled}
          required={props.required ?? false}
          onCheckedChange={(next) => onCheckedChange(next)}
          aria-labelledby={ids.label}
          aria-describedby={ids.describedBy}
          aria-invalid={hasError(props.error) || undefined}
          className="mt-0.5 flex size-4 shrink-0 items-center justify-center rounded border border-line-strong bg-surface text-accent-ink data-checked:border-accent data-checked:bg-accent data-disabled:border-line data-disabled:bg-sunken"
        >
          <Checkbox.Indicator className="flex">
            <Icon name="check" size={12} />
          </Checkbox.Indicator>
        </Checkbox.Root>
        <span className={props.labelHidden === true ? "sr-only" : "min-w-0"}>{props.label}</span>
      </label>
      <div className="ml-6 flex flex-col gap-1">
        <FieldNotes ids={ids} hint={props.hint} error={props.error} />
      </div>
    </div>
  );
}

export interface SwitchFieldProps extends FieldLook {
  readonly checked: boolean;
  readonly onCheckedChange: (checked: boolean) => void;
}

/** Something that is on or off, at once. */
export function SwitchField(props: SwitchFieldProps): ReactNode {
  const { checked, onCheckedChange, disabled = false } = props;
  const ids = useFieldIds(props);
  return (
    <div className={classNames("flex min-w-0 flex-col", hasNotes(props) && "gap-1", props.className)}>
      <label id={ids.label} className={CHOICE_CLASS}>
        <Switch.Root
          checked={checked}
          disabled={disabled}
          onCheckedChange={(next) => onCheckedChange(next)}
          aria-labelledby={ids.label}
          aria-describedby={ids.describedBy}
          className="flex h-5 w-9 shrink-0 items-center rounded-full border border-line-strong bg-sunken px-0.5 transition-colors duration-100 data-checked:border-accent data-checked:bg-accent data-disabled:border-line data-disabled:bg-sunken"
        >
          <Switch.Thumb className="size-3.5 rounded-full bg-line-strong transition-transform duration-100 data-checked:translate-x-4 data-checked:bg-accent-ink data-disabled:bg-line-strong" />
        </Switch.Root>
        <span className={props.labelHidden === true ? "sr-only" : "min-w-0"}>{props.label}</span>
      </label>
      <div className="ml-11 flex flex-col gap-1">
        <FieldNotes ids={ids} hint={props.hint} error={props.error} />
      </div>
    </div>
  );
}

/** Without any there is no gap for them, so that the control stands in the middle of a cell. */
function hasNotes({ hint, error }: FieldLook): boolean {
  return hasError(error) || (hint !== undefined && hint !== null);
}

const CHOICE_CLASS =
  "flex min-h-6 w-fit max-w-full items-start gap-2 text-sm text-ink has-data-disabled:cursor-not-allowed has-data-disabled:text-ink-faint";
