import { useBlocker } from "@tanstack/react-router";
import { useState } from "react";
import type { SnippetKind } from "#snippets/client.ts";
import { Button } from "../components/button.tsx";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { Dialog } from "../components/dialog.tsx";
import { SecretReveal } from "../components/secret.tsx";
import { Snippets } from "../snippets/snippets.tsx";

export interface RevealDialogProps {
  /** The plaintext; it lives in the memory of this dialog's owner until `onClose`, and nowhere else. */
  readonly secret: string;
  readonly kind: SnippetKind;
  readonly title: string;
  /** What it is: `Key`. */
  readonly label: string;
  readonly onClose: () => void;
  /** What opened the dialog before this one, which is gone. */
  readonly toFinalFocus?: (() => HTMLElement | null) | undefined;
}

/** Shows a new secret, this once, with the snippets that hold it. Leaving before it was copied asks first. */
export function RevealDialog({ secret, kind, title, label, onClose, toFinalFocus }: RevealDialogProps) {
  const [copied, setCopied] = useState(false);
  const [asking, setAsking] = useState(false);
  // Another page, the back button, a closed tab: all would lose it.
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
          <SecretReveal secret={secret} label={label} onCopied={() => setCopied(true)} />
          <Snippets kind={kind} secret={secret} onCopied={() => setCopied(true)} />
        </div>
      </Dialog>
      <ConfirmDialog
        open={asking || blocker.status === "blocked"}
        onOpenChange={(next) => !next && stay()}
        title={`Leave without copying the ${label.toLowerCase()}?`}
        body="It is shown this once. If you leave now, all that can be done is to delete it and make another."
        confirmLabel="Leave"
        cancelLabel="Go back and copy"
        danger
        onConfirm={leave}
      />
    </>
  );
}
