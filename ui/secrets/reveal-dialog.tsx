import { useBlocker } from "@tanstack/react-router";
import { useState } from "react";
import { Button } from "../components/button.tsx";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { Dialog } from "../components/dialog.tsx";
import { SecretReveal } from "../components/secret.tsx";
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
