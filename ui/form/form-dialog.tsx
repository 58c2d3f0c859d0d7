import type { ReactNode } from "react";
import { CloseButton, Dialog, type DialogProps } from "../components/dialog.tsx";
import { Form, SubmitButton } from "./form.tsx";
import type { Form as FormState } from "./use-form.ts";

export interface FormDialogProps<Values extends object> extends Pick<
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
