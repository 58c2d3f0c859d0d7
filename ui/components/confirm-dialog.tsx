import { AlertDialog } from "@base-ui/react/alert-dialog";
import { type ReactNode, useState } from "react";
import { Button } from "./button.tsx";
import { classNames } from "./class-names.ts";
import { BACKDROP_CLASS, DIALOG_CLASS, FOOTER_CLASS, VIEWPORT_CLASS } from "./dialog-frame.ts";
import { TextField } from "./text-field.tsx";

export interface ConfirmDialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  /** The consequence, and what stays as it is. */
  readonly body: ReactNode;
  /** The verb: `Delete key`. */
  readonly confirmLabel: string;
  readonly cancelLabel?: string | undefined;
  readonly danger?: boolean | undefined;
  readonly onConfirm: () => void;
  readonly busy?: boolean | undefined;
  /** A name that has to be typed before the verb answers: for what cannot be undone. */
  readonly requireText?: string | undefined;
  /** An error of the last try, between the body and the buttons. */
  readonly notice?: ReactNode;
}

/** A question that has to be answered: a press outside does not, Esc means no. */
export function ConfirmDialog(props: ConfirmDialogProps): ReactNode {
  const { open, onOpenChange, title } = props;
  return (
    <AlertDialog.Root open={open} onOpenChange={(next) => onOpenChange(next)}>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop forceRender className={BACKDROP_CLASS} />
        <AlertDialog.Viewport className={VIEWPORT_CLASS}>
          <AlertDialog.Popup className={classNames(DIALOG_CLASS, "max-w-md")}>
            <AlertDialog.Title className="px-5 pt-4 text-base font-semibold text-ink">
              {title}
            </AlertDialog.Title>
            <Question {...props} />
          </AlertDialog.Popup>
        </AlertDialog.Viewport>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}

/** Mounted with the popup, so that the typed text is forgotten when the dialog closes. */
function Question(props: ConfirmDialogProps): ReactNode {
  const { body, confirmLabel, danger = false, onConfirm, busy = false, requireText, notice } = props;
  const [typed, setTyped] = useState("");
  const isAnswerable = requireText === undefined || typed === requireText;
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isAnswerable && !busy) onConfirm();
      }}
      className="flex flex-col"
    >
      <div className="flex min-w-0 flex-col gap-3 px-5 pt-1.5 pb-5">
        <AlertDialog.Description render={<div />} className="text-ink-soft">
          {body}
        </AlertDialog.Description>
        {requireText !== undefined && (
          <TextField label={`Type ${requireText} to confirm`} value={typed} onValueChange={setTyped} mono />
        )}
        {notice}
      </div>
      <footer className={FOOTER_CLASS}>
        <AlertDialog.Close render={<Button />}>{props.cancelLabel ?? "Cancel"}</AlertDialog.Close>
        <Button type="submit" variant={danger ? "danger" : "primary"} busy={busy} disabled={!isAnswerable}>
          {confirmLabel}
        </Button>
      </footer>
    </form>
  );
}
