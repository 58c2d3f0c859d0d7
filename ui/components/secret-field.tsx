import { type ReactNode, type Ref, useState } from "react";
import { classNames } from "./class-names.ts";
import { FieldFrame, type FieldLook, toControlClass, toInputProps, useFieldIds } from "./field-frame.tsx";
import { Icon } from "./icon.tsx";

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
