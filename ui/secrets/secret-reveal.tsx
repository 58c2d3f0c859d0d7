import { type ReactNode, useId, useRef } from "react";
import { CopyButton } from "../components/copy.tsx";
import { Icon } from "../components/icon.tsx";

interface SecretRevealProps {
  readonly secret: string;
  /** What it is: `Key` or `Relay token`. */
  readonly label: string;
  readonly onCopied?: (() => void) | undefined;
}

/** A secret that is shown this once: selected by one press, copied by the next. It is never put anywhere else. */
export function SecretReveal({ secret, label, onCopied }: SecretRevealProps): ReactNode {
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  return (
    <div className="flex flex-col gap-2 rounded-card border border-line bg-sunken p-3">
      <label id={`${id}-label`} htmlFor={id} className="text-xs font-medium text-ink-soft">
        {label}
      </label>
      <div className="flex flex-wrap items-center gap-2">
        <input
          id={id}
          ref={input}
          readOnly
          value={secret}
          spellCheck={false}
          autoComplete="off"
          onFocus={() => input.current?.select()}
          aria-labelledby={`${id}-label`}
          aria-describedby={`${id}-note`}
          className="h-8 min-w-0 flex-1 basis-48 rounded-control border border-line-strong bg-surface px-2.5 font-mono text-[0.8125rem] leading-6 text-ink"
        />
        <CopyButton
          text={secret}
          label={`Copy ${label.toLowerCase()}`}
          variant="primary"
          size="md"
          onCopied={onCopied}
        />
      </div>
      <p id={`${id}-note`} className="flex items-start gap-1.5 text-xs text-warn">
        <Icon name="warning" size={14} className="mt-px" />
        Shown only once: copy it now. If you lose it, delete it and create a new one.
      </p>
    </div>
  );
}
