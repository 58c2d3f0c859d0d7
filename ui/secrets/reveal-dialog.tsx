import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useId, useRef, useState } from "react";
import { Button } from "../components/button.tsx";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { CopyButton } from "../components/copy.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Icon } from "../components/icon.tsx";
import { Snippets } from "../snippets/snippets.tsx";
import type { SecretKind } from "./secret-row.ts";

export interface RevealDialogProps {
  /** The plaintext; it lives in the memory of this dialog's owner until `onClose`, and nowhere else. */
  readonly secret: string;
  readonly kind: SecretKind;
  readonly title: string;
  readonly onClose: () => void;
  /** The button that the focus returns to: the dialog that opened this one is gone. */
  readonly toFinalFocus?: (() => HTMLElement | null) | undefined;
}

/** Shows a new secret once, in the snippets too, and asks before it is left uncopied. */
export function RevealDialog({ secret, kind, title, onClose, toFinalFocus }: RevealDialogProps) {
  const [copied, setCopied] = useState(false);
  const [asking, setAsking] = useState(false);
  // Another page, the back button and a closed tab would lose it.
  const blocker = useBlocker({
    shouldBlockFn: () => !copied,
    enableBeforeUnload: () => !copied,
    withResolver: true,
  });
  const leave = () => {
    setAsking(false);
    onClose();
    if (blocker.status === "blocked") blocker.proceed();
  };
  const stay = () => {
    setAsking(false);
    if (blocker.status === "blocked") blocker.reset();
  };
  const close = () => (copied ? leave() : setAsking(true));
  return (
    <>
      <Dialog
        open
        onOpenChange={(next) => !next && close()}
        title={title}
        size="lg"
        keepOnOutsidePress
        toFinalFocus={toFinalFocus}
        footer={
          <Button variant={copied ? "primary" : "secondary"} onClick={close}>
            Done
          </Button>
        }
      >
        <div className="flex min-w-0 flex-col gap-4">
          <SecretReveal secret={secret} label={kind.title} onCopied={() => setCopied(true)} />
          <Snippets kind={kind.clients} secret={secret} onCopied={() => setCopied(true)} />
        </div>
      </Dialog>
      <ConfirmDialog
        open={asking || blocker.status === "blocked"}
        onOpenChange={(next) => !next && stay()}
        title={`Leave without copying the ${kind.noun}?`}
        body="It is shown only once. If you leave now, you can only delete it and create another one."
        confirmLabel="Leave"
        cancelLabel="Go back and copy"
        danger
        onConfirm={leave}
      />
    </>
  );
}

interface SecretRevealProps {
  readonly secret: string;
  /** What it is: `Key` or `Relay token`. */
  readonly label: string;
  readonly onCopied?: (() => void) | undefined;
}

/** A secret that is shown this once: selected by one press, copied by the next. It is never put anywhere else. */
function SecretReveal({ secret, label, onCopied }: SecretRevealProps): ReactNode {
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
