import { Select } from "@base-ui/react/select";
import { type ReactNode } from "react";
import { classNames } from "./class-names.ts";
import {
  CONTROL_CLASS,
  FieldFrame,
  type FieldLook,
  hasError,
  TEXT_CLASS,
  LABEL_CLASS,
  RequiredMark,
  useFieldIds,
} from "./field-frame.tsx";
import { Icon } from "./icon.tsx";
import { OPTION_CLASS, POPUP_CLASS } from "./popup.ts";

export interface SelectOption<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** A quieter second line. */
  readonly detail?: string | undefined;
  readonly disabled?: boolean | undefined;
}

export interface SelectFieldProps<Value extends string> extends FieldLook {
  readonly options: readonly SelectOption<Value>[];
  /** Null shows the placeholder. */
  readonly value: Value | null;
  readonly onValueChange: (value: Value) => void;
  readonly placeholder?: string | undefined;
  readonly size?: "sm" | "md" | undefined;
}

/** One of a few; typing jumps to an option. For many, or for free text, take `ComboField`. */
export function SelectField<Value extends string>(props: SelectFieldProps<Value>): ReactNode {
  const { options, value, onValueChange, label, labelHidden = false, required = false, size = "md" } = props;
  const ids = useFieldIds(props);
  return (
    <Select.Root
      items={options}
      value={value}
      onValueChange={(next) => {
        if (next !== null) onValueChange(next);
      }}
      disabled={props.disabled ?? false}
      required={required}
      modal={false}
    >
      <FieldFrame
        {...props}
        ids={ids}
        labelElement={
          <Select.Label className={labelHidden ? "sr-only" : LABEL_CLASS}>
            {label}
            {required && <RequiredMark />}
          </Select.Label>
        }
      >
        <Select.Trigger
          aria-describedby={ids.describedBy}
          aria-invalid={hasError(props.error) || undefined}
          className={classNames(
            CONTROL_CLASS,
            "flex items-center justify-between gap-2 pr-2 text-left",
            TEXT_CLASS.plain,
            size === "sm" ? "h-7" : "h-8",
          )}
        >
          <Select.Value
            className="truncate data-placeholder:text-ink-faint"
            placeholder={props.placeholder ?? "Choose"}
          />
          <Select.Icon className="flex text-ink-faint">
            <Icon name="chevrons-up-down" />
          </Select.Icon>
        </Select.Trigger>
      </FieldFrame>
      <Select.Portal>
        <Select.Positioner className="z-50" sideOffset={4} alignItemWithTrigger={false} collisionPadding={8}>
          <Select.Popup className={POPUP_CLASS}>
            <Select.List className="max-h-[min(20rem,var(--available-height))] overflow-y-auto p-1">
              {options.map((option) => (
                <Select.Item
                  key={option.value}
                  value={option.value}
                  disabled={option.disabled ?? false}
                  className={OPTION_CLASS}
                >
                  <span className="flex size-4 shrink-0">
                    <Select.ItemIndicator className="flex">
                      <Icon name="check" />
                    </Select.ItemIndicator>
                  </span>
                  <div className="min-w-0">
                    <Select.ItemText className="block truncate">{option.label}</Select.ItemText>
                    {option.detail !== undefined && (
                      <span className="block text-xs text-ink-faint">{option.detail}</span>
                    )}
                  </div>
                </Select.Item>
              ))}
            </Select.List>
          </Select.Popup>
        </Select.Positioner>
      </Select.Portal>
    </Select.Root>
  );
}
