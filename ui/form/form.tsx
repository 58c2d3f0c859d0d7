import { type ReactNode, useEffect, useLayoutEffect, useRef } from "react";
import { flushSync } from "react-dom";
import { Button } from "../components/button.tsx";
import { classNames } from "../components/class-names.ts";
import { CloseButton, Dialog, type DialogProps } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { focusInvalid } from "../components/field-frame.tsx";
import { useDiscardQuestion } from "./discard-question.tsx";
import type { Form as FormState } from "./use-form.ts";

interface FormProps<Values extends object> {
  readonly form: FormState<Values>;
  readonly className?: string | undefined;
  readonly children: ReactNode;
}

/** The fields of a form, with why it could not be saved beneath; asks before they are discarded. Enter submits. */
export function Form<Values extends object>({ form, className, children }: FormProps<Values>): ReactNode {
  const { id, name, failure } = form;
  const question = useDiscardQuestion({ isTouched: form.isTouched, discard: form.reset });
  const current = useRef(form);
  useLayoutEffect(() => {
    current.current = form;
  });
  useEffect(() => {
    const ended = new AbortController();
    const { signal } = ended;
    let isPressed = false;
    const leave = ({ target }: FocusEvent) => {
      const key = target instanceof HTMLElement ? target.getAttribute("name") : null;
      if (key === null) return;
      const tell = () => current.current.onLeave(key);
      // What appears between the press and the release of a button moves it away from under the pointer, which then presses nothing.
      if (isPressed) document.addEventListener("pointerup", () => setTimeout(tell), { once: true, signal });
      else tell();
    };
    document.addEventListener("pointerdown", () => (isPressed = true), { capture: true, signal });
    document.addEventListener("pointerup", () => (isPressed = false), { capture: true, signal });
    document.getElementById(id)?.addEventListener("focusout", leave, { signal });
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
        {form.moved.length > 0 ? (
          <MovedNotice form={form} />
        ) : (
          failure !== null && <ErrorNotice failure={failure} />
        )}
      </form>
      {question}
    </>
  );
}

/** What was changed elsewhere since the form was begun, and the two ways on; what was typed stays until one is chosen. */
function MovedNotice<Values extends object>({ form }: { readonly form: FormState<Values> }): ReactNode {
  const saveOver = () => {
    flushSync(form.acceptMoved);
    const element = document.getElementById(form.id);
    if (element instanceof HTMLFormElement) element.requestSubmit();
  };
  return (
    <div
      role="alert"
      data-moved
      tabIndex={-1}
      className="flex flex-col gap-2 rounded-control bg-warn-soft px-3 py-2.5"
    >
      <p className="font-medium">This was changed meanwhile, by another person or in another tab</p>
      <ul className="flex flex-col gap-0.5 break-words">
        {form.moved.map(({ label, was, now }) => (
          <li key={label}>
            {label}: <span className="text-ink-soft line-through">{was}</span> <span>{now}</span>
          </li>
        ))}
      </ul>
      <p className="text-ink-soft">What you typed is not saved.</p>
      <div className="flex flex-wrap gap-2">
        <Button onClick={saveOver}>Save over it</Button>
        <Button onClick={form.reset}>Take the newer</Button>
      </div>
    </div>
  );
}

interface SubmitButtonProps<Values extends object> {
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

interface FormDialogProps<Values extends object> extends Pick<
  DialogProps,
  "title" | "description" | "size" | "toFinalFocus"
> {
  readonly form: FormState<Values>;
  readonly onClose: () => void;
  /** The verb, and what stands in its place while it is under way. */
  readonly submit: string;
  readonly underWay: string;
  readonly children: ReactNode;
  /** Beneath the form, and no part of it. */
  readonly after?: ReactNode;
}

/** A dialog that is one form. It asks before it closes over what was typed. */
export function FormDialog<Values extends object>(props: FormDialogProps<Values>): ReactNode {
  const { form, onClose, submit, underWay, children, after, ...dialog } = props;
  return (
    <Dialog
      {...dialog}
      open
      onOpenChange={(open) => !open && onClose()}
      footer={
        <>
          <CloseButton>Cancel</CloseButton>
          <SubmitButton form={form} underWay={underWay}>
            {submit}
          </SubmitButton>
        </>
      }
    >
      <Form form={form}>{children}</Form>
      {after}
    </Dialog>
  );
}
