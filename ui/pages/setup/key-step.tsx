import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { LABEL_LENGTH_MAX } from "#kernel/text.ts";
import { createMyKey } from "../../api/my.ts";
import { Button } from "../../components/button.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { toFieldError } from "../../components/field-frame.tsx";
import { TextField } from "../../components/text-field.tsx";

/** A key that was made here; its plaintext lives in the memory of the page until it is left. */
export interface NewKey {
  readonly id: string;
  readonly suffix: string;
  readonly secret: string;
}

/** The third step: a key of the reader's own. */
export function KeyStep({ onCreated }: { readonly onCreated: (key: NewKey) => void }) {
  const [label, setLabel] = useState("first key");
  const create = useMutation({
    ...createMyKey,
    onSuccess: ({ id, key, key_suffix: suffix }) => onCreated({ id, suffix, secret: key }),
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!create.isPending) create.mutate({ label: label.trim() });
  };
  return (
    <form onSubmit={submit} className="flex flex-col gap-3">
      <div className="flex flex-wrap items-end gap-2">
        <TextField
          label="Label"
          className="min-w-48 flex-1 sm:max-w-sm"
          lengthMax={LABEL_LENGTH_MAX}
          value={label}
          error={toFieldError(create.error, "label")}
          onValueChange={setLabel}
        />
        <Button type="submit" variant="primary" busy={create.isPending}>
          Create key
        </Button>
      </div>
      {create.error !== null && <ErrorNotice failure={create.error} />}
    </form>
  );
}
