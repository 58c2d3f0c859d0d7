import { type ReactNode, useRef } from "react";
import { useDiscardQuestion } from "../form/discard-question.tsx";
import type { SecretKind } from "./secret-row.ts";

/**
 * Asks before a secret that is shown once is left uncopied: the dialog around it closed, another page, the back button and a
 * closed tab would lose it. Returns the question, to be drawn beside the secret.
 */
export function useUncopied({ noun }: SecretKind, isCopied: boolean): ReactNode {
  const isLeft = useRef(false);
  return useDiscardQuestion({
    isTouched: () => !isCopied && !isLeft.current,
    discard: () => (isLeft.current = true),
    words: {
      title: `Leave without copying the ${noun}?`,
      body: "It is shown only once. If you leave now, you can only delete it and create another one.",
      confirmLabel: "Leave",
      cancelLabel: "Go back and copy",
    },
  });
}
