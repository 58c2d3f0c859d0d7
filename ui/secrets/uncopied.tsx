import { useBlocker } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import type { SecretKind } from "./secret-row.ts";

export interface Uncopied {
  /** Leaves at once when the secret was copied, else asks first. */
  readonly close: () => void;
  readonly question: ReactNode;
}

/** Asks before a secret that is shown once is left uncopied: another page, the back button and a closed tab would lose it. */
export function useUncopied(kind: SecretKind, isCopied: boolean, onClose: () => void): Uncopied {
  const [asking, setAsking] = useState(false);
  const blocker = useBlocker({
    shouldBlockFn: () => !isCopied,
    enableBeforeUnload: () => !isCopied,
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
  return {
    close: () => (isCopied ? leave() : setAsking(true)),
    question: (
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
    ),
  };
}
