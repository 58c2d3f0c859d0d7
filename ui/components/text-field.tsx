import {
  type HTMLInputAutoCompleteAttribute,
  type KeyboardEventHandler,
  type ReactNode,
  type Ref,
} from "react";
import { classNames } from "./class-names.ts";
import {
  CONTROL_CLASS,
  FieldFrame,
  type FieldLook,
  TEXT_CLASS,
  toControlClass,
  toInputProps,
  useFieldIds,
} from "./field-frame.tsx";
import { Icon, type IconName } from "./icon.tsx";

export interface TextFieldProps extends FieldLook {
  readonly value: string;
  readonly onValueChange: (value: string) => void;
  readonly type?: "text" | "url" | "search" | "date" | "time" | undefined;
  readonly multiline?: boolean | undefined;
  readonly rows?: number | undefined;
  readonly mono?: boolean | undefined;
  readonly icon?: IconName | undefined;
  readonly placeholder?: string | undefined;
  readonly autoComplete?: HTMLInputAutoCompleteAttribute | undefined;
  readonly autoFocus?: boolean | undefined;
  /** The filter of its page, which `/` goes to. */
  readonly isPageFilter?: boolean | undefined;
  readonly lengthMax?: number | undefined;
  readonly size?: "sm" | "md" | undefined;
  readonly areaRef?: Ref<HTMLTextAreaElement> | undefined;
  readonly onKeyDown?: KeyboardEventHandler<HTMLInputElement | HTMLTextAreaElement> | undefined;
}

/** One line of text, or several with `multiline`. */
export function TextField(props: TextFieldProps): ReactNode {
  const ids = useFieldIds(props);
  const {
    value,
    onValueChange,
    type = "text",
    multiline = false,
    rows = 4,
    mono = false,
    icon,
    size = "md",
  } = props;
  const shared = {
    ...toInputProps(ids, props),
    "data-filter": props.isPageFilter || undefined,
    value,
    maxLength: props.lengthMax,
    autoFocus: props.autoFocus,
    autoComplete: props.autoComplete ?? "off",
    spellCheck: mono ? false : undefined,
    onKeyDown: props.onKeyDown,
  };
  const text = mono ? "mono" : "plain";
  return (
    <FieldFrame {...props} ids={ids}>
      {multiline ? (
        <textarea
          {...shared}
          ref={props.areaRef}
          rows={rows}
          onChange={(event) => onValueChange(event.target.value)}
          className={classNames(CONTROL_CLASS, TEXT_CLASS[text], "resize-y py-1")}
        />
      ) : (
        <div className="relative min-w-0">
          {icon !== undefined && (
            <Icon
              name={icon}
              className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-ink-faint"
            />
          )}
          <input
            {...shared}
            type={type}
            onChange={(event) => onValueChange(event.target.value)}
            className={classNames(toControlClass(text, size), icon !== undefined && "pl-8")}
          />
        </div>
      )}
    </FieldFrame>
  );
}
