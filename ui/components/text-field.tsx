import {
  type HTMLInputAutoCompleteAttribute,
  type KeyboardEventHandler,
  type ReactNode,
  type Ref,
  useState,
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

export interface SecretFieldProps extends FieldLook {
  readonly value: string;
  readonly onValueChange: (value: string) => void;
  /** `current-password` for signing in; otherwise the browser is asked to keep out. */
  readonly autoComplete?: "current-password" | "new-password" | "off" | undefined;
  readonly placeholder?: string | undefined;
  readonly inputRef?: Ref<HTMLInputElement> | undefined;
}

/** A password or a key to write; it is hidden until it is asked to show. */
export function SecretField(props: SecretFieldProps): ReactNode {
  const { value, onValueChange, label, disabled = false } = props;
  const [isShown, setShown] = useState(false);
  const ids = useFieldIds(props);
  return (
    <FieldFrame {...props} ids={ids}>
      <div className="relative flex min-w-0 items-center">
        <input
          {...toInputProps(ids, props)}
          ref={props.inputRef}
          type={isShown ? "text" : "password"}
          value={value}
          autoComplete={props.autoComplete ?? "off"}
          autoCapitalize="none"
          spellCheck={false}
          aria-labelledby={ids.label}
          onChange={(event) => onValueChange(event.target.value)}
          className={classNames(toControlClass("mono"), "pr-9")}
        />
        <button
          type="button"
          disabled={disabled}
          aria-pressed={isShown}
          aria-label={`Show ${label.toLowerCase()}`}
          title={isShown ? "Hide" : "Show"}
          onClick={() => setShown(!isShown)}
          className="absolute right-1 flex size-6 items-center justify-center rounded text-ink-faint enabled:hover:bg-hover enabled:hover:text-ink focus-visible:outline-offset-0"
        >
          <Icon name={isShown ? "eye-off" : "eye"} />
        </button>
      </div>
    </FieldFrame>
  );
}
