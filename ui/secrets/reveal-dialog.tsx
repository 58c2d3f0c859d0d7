import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { buttonClass } from "../components/button.tsx";
import { CloseButton, Dialog } from "../components/dialog.tsx";
import { Snippets } from "../snippets/snippets.tsx";
import { SecretReveal } from "./secret-reveal.tsx";
import type { SecretKind } from "./secret-row.ts";
import { useUncopied } from "./uncopied.tsx";

export interface RevealDialogProps {
  /** The plaintext; it lives in the memory of this dialog's owner until `onClose`, and nowhere else. */
  readonly secret: string;
  readonly kind: SecretKind;
  readonly title: string;
  /** The only models that it may use; any when absent. */
  readonly models?: readonly string[] | undefined;
  readonly onClose: () => void;
  /** The owner's name, when it is another principal: a budget for them is the next step. */
  readonly owner?: string | undefined;
  /** The button that the focus returns to: the dialog that opened this one is gone. */
  readonly toFinalFocus?: (() => HTMLElement | null) | undefined;
}

/** Shows a new secret once, in the snippets too, and asks before it is left uncopied. */
export function RevealDialog(props: RevealDialogProps) {
  const { secret, kind, title, models, onClose, owner, toFinalFocus } = props;
  const [copied, setCopied] = useState(false);
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={title}
      size="lg"
      toFinalFocus={toFinalFocus}
      footer={
        <>
          {owner !== undefined && (
            <Link to="/limits" search={{ budget: owner }} className={buttonClass()}>
              Set a monthly budget
            </Link>
          )}
          <CloseButton variant={copied ? "primary" : "secondary"}>Done</CloseButton>
        </>
      }
    >
      <Revealed {...{ secret, kind, models, copied }} onCopied={() => setCopied(true)} />
    </Dialog>
  );
}

interface RevealedProps extends Pick<RevealDialogProps, "secret" | "kind" | "models"> {
  readonly copied: boolean;
  readonly onCopied: () => void;
}

/** Within the dialog, which asks what stands in it before it closes. */
function Revealed({ secret, kind, models, copied, onCopied }: RevealedProps) {
  const question = useUncopied(kind, copied);
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <SecretReveal secret={secret} label={kind.title} onCopied={onCopied} />
      <Snippets kind={kind.clients} only={models} secret={secret} onCopied={onCopied} />
      {question}
    </div>
  );
}
