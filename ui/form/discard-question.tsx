import { type ReactNode, use, useEffect, useLayoutEffect, useRef, useState } from "react";
import { ConfirmDialog, type ConfirmDialogProps } from "../components/confirm-dialog.tsx";
import { addForm, type OpenForm, SurfaceContext } from "./unsaved.ts";

interface Question {
  readonly answered: Promise<boolean>;
  readonly answer: (isDiscarded: boolean) => void;
}

export interface Discardable extends Pick<OpenForm, "isTouched" | "discard"> {
  /** The question; it is about a form when absent. */
  readonly words?: typeof FORM_WORDS | undefined;
}

const FORM_WORDS: Pick<ConfirmDialogProps, "title" | "body" | "confirmLabel" | "cancelLabel"> = {
  title: "Discard what you typed?",
  body: "It has not been saved.",
  confirmLabel: "Discard",
  cancelLabel: "Keep editing",
};

/**
 * Asks before what was typed is discarded, for as long as the component is drawn. Returns the question: draw it beside what
 * it is about, since what is submitted in it comes by its parents as well.
 */
export function useDiscardQuestion(typed: Discardable): ReactNode {
  const surfaces = use(SurfaceContext);
  const [question, setQuestion] = useState<Question | null>(null);
  const current = useRef(typed);
  // Before what is drawn can be pressed: a press right after typing asks, and one right after saving does not.
  useLayoutEffect(() => {
    current.current = typed;
  });
  useEffect(() => {
    let asked: Question | null = null;
    const remove = addForm({
      surfaces,
      isTouched: () => current.current.isTouched(),
      discard: () => current.current.discard(),
      ask: () => {
        asked ??= toQuestion(() => {
          asked = null;
          setQuestion(null);
        });
        setQuestion(asked);
        return asked.answered;
      },
    });
    return () => {
      remove();
      // It was saved meanwhile, or is gone: nothing holds back what waits for an answer.
      asked?.answer(true);
    };
  }, [surfaces]);
  return (
    question !== null && (
      <ConfirmDialog
        open
        onOpenChange={(open) => !open && question.answer(false)}
        {...(typed.words ?? FORM_WORDS)}
        danger
        onConfirm={() => question.answer(true)}
      />
    )
  );
}

function toQuestion(onAnswered: () => void): Question {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  return {
    answered: promise,
    answer: (isDiscarded) => {
      onAnswered();
      resolve(isDiscarded);
    },
  };
}
