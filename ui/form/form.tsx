import { type ReactNode, use, useEffect, useRef, useState } from "react";
import { Button } from "../components/button.tsx";
import { classNames } from "../components/class-names.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { focusInvalid } from "../components/field-frame.tsx";
import { addForm, SurfaceContext } from "./unsaved.ts";
import type { Form as FormState } from "./use-form.ts";

export interface FormProps<Values extends object> {
  readonly form: FormState<Values>;
  readonly className?: string | undefined;
  readonly children: ReactNode;
}

/** The fields of a form, with why it could not be saved beneath; asks before they are discarded. Enter submits. */
export function Form<Values extends object>({ form, className, children }: FormProps<Values>): ReactNode {
  const { id, name, failure } = form;
  const surfaces = use(SurfaceContext);
  const [question, setQuestion] = useState<Question | null>(null);
  const current = useRef(form);
  useEffect(() => {
    current.current = form;
  });
  useEffect(() => {
    let asked: Question | null = null;
    const remove = addForm({
      surfaces,
      isTouched: () => current.current.isTouched(),
      discard: () => current.current.reset(),
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
  useEffect(() => {
    const ended = new AbortController();
    const leave = ({ target }: FocusEvent) => {
      if (target instanceof HTMLElement) current.current.onLeave(target.getAttribute("name") ?? "");
    };
    document.getElementById(id)?.addEventListener("focusout", leave, { signal: ended.signal });
    return () => ended.abort();
  }, [id]);
  useEffect(() => {
    const element = document.getElementById(id);
    if (failure !== null && element !== null) focusInvalid(element);
  }, [failure, id]);
  return (
    <>
      <form
        id={id}
        data-form={name}
        noValidate
        onSubmit={form.submit}
        className={classNames("flex flex-col gap-4", className)}
      >
        {children}
        {failure !== null && <ErrorNotice failure={failure} />}
      </form>
      {/* Beside the form: what is submitted within would come by here as well. */}
      {question !== null && (
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
      )}
    </>
  );
}

interface Question {
  readonly answered: Promise<boolean>;
  readonly answer: (isDiscarded: boolean) => void;
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

export interface SubmitButtonProps<Values extends object> {
  readonly form: FormState<Values>;
  /** The verb: `Create key`. */
  readonly children: string;
  /** In place of the verb while it is under way: `Creating…`. */
  readonly underWay: string;
  readonly disabled?: boolean | undefined;
  readonly className?: string | undefined;
}

/** Submits the form, wherever it stands, and says so while that is under way. */
export function SubmitButton<Values extends object>(props: SubmitButtonProps<Values>): ReactNode {
  const { form, children, underWay, disabled, className } = props;
  return (
    <Button
      type="submit"
      form={form.id}
      variant="primary"
      busy={form.isPending}
      disabled={disabled}
      className={className}
    >
      {form.isPending ? underWay : children}
    </Button>
  );
}
