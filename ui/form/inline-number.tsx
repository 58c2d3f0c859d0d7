import { useMutation } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { ApiFailure, isChangedMeanwhile } from "../api/failure.ts";
import { NumberField, type NumberFieldProps } from "../components/number-field.tsx";
import { Beside } from "../components/popover.tsx";
import { Spinner } from "../components/progress.tsx";
import { useDiscardQuestion } from "./discard-question.tsx";

/** A number that was typed in place of another one; null is an empty field. */
export interface NumberChange {
  readonly was: number | null;
  readonly next: number | null;
}

export interface InlineNumberProps extends Pick<NumberFieldProps, "label" | "prefix" | "min"> {
  /** The name of the button that makes it a field: `Input tokens of fast: $2.00, own. Change`. */
  readonly buttonLabel: string;
  /** Content of the button. */
  readonly children: ReactNode;
  readonly value: number | null;
  /** Below the field while nothing is under way. */
  readonly hint: string;
  /** Leaving the field empty changes nothing. */
  readonly isRequired?: boolean | undefined;
  /** Takes the focus where nothing has it: the row that this one stands for was edited, and is gone. */
  readonly takesFocus?: boolean | undefined;
  /** Fulfilled when the list shows the number; its error stands at the field. */
  readonly onSave: (change: NumberChange) => Promise<unknown>;
  /** The consequence of another number, told beside the field before it is saved. */
  readonly consequence: { readonly title: string; readonly of: (next: number | null) => ReactNode };
}

/**
 * A number in a table that a press makes a field. Enter and going elsewhere save, Esc leaves it as it was. What cannot be read,
 * and what is refused, stays with its error until it is right or left by Esc.
 */
export function InlineNumber(props: InlineNumberProps): ReactNode {
  const [isEditing, setEditing] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  // Only what the keyboard ended gives the focus back: a press elsewhere has put it there.
  const isReturning = useRef(false);
  useEffect(() => {
    if (isEditing || !isReturning.current) return;
    isReturning.current = false;
    button.current?.focus();
  }, [isEditing]);
  const { takesFocus = false } = props;
  useEffect(() => {
    if (takesFocus && document.activeElement === document.body) button.current?.focus();
  }, [takesFocus]);
  if (isEditing) {
    return (
      <Editor
        {...props}
        onEnd={(byKey) => {
          isReturning.current = byKey;
          setEditing(false);
        }}
      />
    );
  }
  return (
    <button
      ref={button}
      type="button"
      aria-label={props.buttonLabel}
      onClick={() => setEditing(true)}
      className="-mx-1.5 inline-flex min-h-6 max-w-full min-w-6 items-center justify-center rounded px-1.5 whitespace-nowrap hover:bg-accent-soft focus-visible:outline-offset-0"
    >
      {props.children}
    </button>
  );
}

interface EditorProps extends InlineNumberProps {
  readonly onEnd: (byKey: boolean) => void;
}

function Editor(props: EditorProps) {
  const { label, prefix, min, value: shown, hint, isRequired = false, consequence, onEnd, onSave } = props;
  // What one began with: the list may have been asked anew since.
  const [begin, setBegin] = useState(shown);
  const [typed, setTyped] = useState(begin);
  const field = useRef<HTMLDivElement>(null);
  const save = useMutation({ mutationFn: onSave });
  const isUnreadable = () => field.current?.querySelector("[aria-invalid=true]") !== null;
  const question = useDiscardQuestion({
    isTouched: () => !save.isPending && (typed !== begin || isUnreadable()),
    discard: () => onEnd(false),
  });
  const commit = (byKey: boolean) => {
    // What was refused is not sent again but on purpose.
    if (save.isPending || (save.error === null ? isUnreadable() : !byKey)) return;
    if (typed === begin || (isRequired && typed === null)) onEnd(byKey);
    else {
      const was = isChangedMeanwhile(save.error) ? shown : begin;
      setBegin(was);
      save.mutate({ was, next: typed }, { onSuccess: () => onEnd(byKey) });
    }
  };
  return (
    <div ref={field} className="text-left whitespace-normal">
      <NumberField
        label={label}
        labelHidden
        size="sm"
        prefix={prefix}
        min={min}
        autoFocus
        selectsOnFocus
        hint={
          save.isPending ? (
            <span role="status" className="flex items-center gap-1.5">
              <Spinner />
              Saving…
            </span>
          ) : (
            hint
          )
        }
        value={typed}
        error={save.error === null ? undefined : toSentence(save.error)}
        onValueChange={(next) => {
          setTyped(next);
          if (save.error !== null) save.reset();
        }}
        onBlur={({ currentTarget }) => {
          // The window lost the focus, and the field did not: it may be half typed.
          if (document.activeElement !== currentTarget) commit(false);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") {
            event.preventDefault();
            commit(true);
          } else if (event.key === "Escape") {
            event.preventDefault();
            event.stopPropagation();
            onEnd(true);
          }
        }}
      />
      {typed !== begin && (
        <Beside anchor={field} title={consequence.title}>
          {consequence.of(typed)}
        </Beside>
      )}
      {question}
    </div>
  );
}

function toSentence(failure: Error): string {
  return failure instanceof ApiFailure ? `${failure.message} (${failure.code})` : failure.message;
}
