import { Autocomplete } from "@base-ui/react/autocomplete";
import { type ReactNode } from "react";
import { classNames } from "./class-names.ts";
import { FieldFrame, type FieldLook, toControlClass, toInputProps, useFieldIds } from "./field-frame.tsx";
import { OPTION_CLASS, POPUP_CLASS } from "./popup.ts";

export interface ComboOption {
  readonly value: string;
  /** Beside the value: a count, a provider. */
  readonly detail?: string | undefined;
}

export interface ComboFieldProps extends FieldLook {
  readonly options: readonly ComboOption[];
  readonly value: string;
  /** Every change of the text; what is meant in the end comes to `onCommit`. */
  readonly onValueChange: (value: string) => void;
  /** An option was chosen, or Enter was pressed on text of one's own; on an empty field it submits its form. */
  readonly onCommit?: ((value: string) => void) | undefined;
  /** The text of the list when nothing matches; text of one's own counts all the same. */
  readonly noneText?: string | undefined;
  readonly placeholder?: string | undefined;
  readonly mono?: boolean | undefined;
}

/** Text with suggestions: the options are filtered while one types, and what is in no list may be written as well. */
export function ComboField(props: ComboFieldProps): ReactNode {
  const { options, value, onValueChange, onCommit, mono = false } = props;
  const ids = useFieldIds(props);
  return (
    <Autocomplete.Root
      items={options}
      itemToStringValue={(option) => option.value}
      value={value}
      onValueChange={(next, { reason }) => {
        onValueChange(next);
        if (reason === "item-press") onCommit?.(next);
      }}
      openOnInputClick
      disabled={props.disabled ?? false}
      required={props.required ?? false}
    >
      <FieldFrame {...props} ids={ids}>
        <Autocomplete.Input
          {...toInputProps(ids, props)}
          spellCheck={false}
          autoComplete="off"
          onKeyDown={(event) => {
            // With an option highlighted, Enter chooses it and comes as a change.
            const isFree = event.currentTarget.getAttribute("aria-activedescendant") === null;
            const { value: text, form } = event.currentTarget;
            const submits = text === "" && form !== null;
            if (event.key === "Enter" && isFree && onCommit !== undefined && !submits) {
              event.preventDefault();
              onCommit(text);
            }
          }}
          className={toControlClass(mono ? "mono" : "plain")}
        />
      </FieldFrame>
      <Autocomplete.Portal>
        <Autocomplete.Positioner className="z-50" sideOffset={4} collisionPadding={8}>
          <Autocomplete.Popup className={POPUP_CLASS}>
            <Autocomplete.Empty className="px-3 py-2 text-xs text-ink-faint empty:hidden">
              {props.noneText ?? "No suggestion: press Enter to use this text"}
            </Autocomplete.Empty>
            <Autocomplete.List className="max-h-[min(20rem,var(--available-height))] overflow-y-auto p-1 data-empty:p-0">
              {(option: ComboOption) => (
                <Autocomplete.Item key={option.value} value={option} className={OPTION_CLASS}>
                  <span
                    className={classNames("min-w-0 flex-1 truncate", mono && "font-mono")}
                    title={option.value}
                  >
                    {option.value}
                  </span>
                  {option.detail !== undefined && (
                    <span className="shrink-0 text-xs text-ink-faint">{option.detail}</span>
                  )}
                </Autocomplete.Item>
              )}
            </Autocomplete.List>
          </Autocomplete.Popup>
        </Autocomplete.Positioner>
      </Autocomplete.Portal>
    </Autocomplete.Root>
  );
}
