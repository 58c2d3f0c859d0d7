import { useMutation } from "@tanstack/react-query";
import { useId, useState, type SubmitEvent } from "react";
import { LABEL_LENGTH_MAX } from "#kernel/text.ts";
import type { Change } from "../api/changing.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { TextField } from "../components/text-field.tsx";

export interface LabelDraft {
  readonly label: string;
}

export interface CreateDialogProps<Created> {
  readonly open: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly submitLabel: string;
  readonly change: Change<LabelDraft, Created>;
  readonly onCreated: (created: Created) => void;
}

/** Asks for a label, makes the secret, and hands it on to be shown. */
export function CreateDialog<Created>(props: CreateDialogProps<Created>) {
  const { open, onClose, title, submitLabel, change, onCreated } = props;
  const [label, setLabel] = useState("");
  const form = useId();
  const create = useMutation({
    ...change,
    onSuccess: (created: Created) => {
      setLabel("");
      onCreated(created);
    },
  });
  const close = () => {
    create.reset();
    onClose();
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!create.isPending) create.mutate({ label: label.trim() });
  };
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => !next && close()}
      title={title}
      size="sm"
      footer={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button type="submit" form={form} variant="primary" busy={create.isPending}>
            {submitLabel}
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className="flex flex-col gap-3">
        <TextField
          label="Label"
          hint="To tell it from your others: a machine, an app. It may stay empty."
          lengthMax={LABEL_LENGTH_MAX}
          value={label}
          onValueChange={setLabel}
          autoFocus
        />
        {create.error !== null && <ErrorNotice failure={create.error} />}
      </form>
    </Dialog>
  );
}
