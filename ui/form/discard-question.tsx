import { type ReactNode, use, useEffect, useRef, useState } from "react";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { addForm, type OpenForm, SurfaceContext } from "./unsaved.ts";

interface Question {
  readonly answered: Promise<boolean>;
  readonly answer: (isDiscarded: boolean) => void;
}

/**
 * Asks before what was typed is discarded, for as long as the component is drawn. Returns the question: draw it beside what
 * it is about, since what is submitted in it comes by its parents as well.
 */
export function useDiscardQuestion(typed: Pick<OpenForm, "isTouched" | "discard">): ReactNode {
  const surfaces = use(SurfaceContext);
  const [question, setQuestion] = useState<Question | null>(null);
  const current = useRef(typed);
  useEffect(() => {
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
        title="Discard what you typed?"
        body="It has not been saved."
        cancelLabel="Keep editing"
        confirmLabel="Discard"
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
