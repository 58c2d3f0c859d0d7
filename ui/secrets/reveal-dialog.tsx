import { useState } from "react";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Snippets } from "../snippets/snippets.tsx";
import { SecretReveal } from "./secret-reveal.tsx";
import type { SecretKind } from "./secret-row.ts";
import { useUncopied } from "./uncopied.tsx";

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
  const { close, question } = useUncopied(kind, copied, onClose);
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
      {question}
    </>
  );
}
