import { useMutation } from "@tanstack/react-query";
import { useId, useState, type SubmitEvent } from "react";
import type { Change } from "../api/changing.ts";
import type { SecretUpdate } from "../api/secret-change.ts";
import { Button } from "../components/button.tsx";
import { SwitchField } from "../components/choice-field.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { useToast } from "../components/toast.tsx";
import { SecretLimits } from "../limits/secret-limits.tsx";
import { toSecretName, type SecretKind, type SecretRow } from "./secret-row.ts";
import { TermFields, toPatch, toTyped } from "./term-fields.tsx";

export interface EditSecretProps {
  readonly row: SecretRow;
  readonly kind: SecretKind;
  readonly change: Change<SecretUpdate, void>;
  readonly onClose: () => void;
}

/** Label, expiry, models and pause of a key or a relay token. What is refused stays typed. */
export function EditSecret({ row, kind, change, onClose }: EditSecretProps) {
  const { notify } = useToast();
  const before = toTyped(row);
  const [typed, setTyped] = useState(before);
  const [isPaused, setPaused] = useState(row.isPaused);
  const form = useId();
  const name = toSecretName(row);
  const update = useMutation({
    ...change,
    onSuccess: () => {
      notify({ title: `Changed ${kind.noun} ${name}`, body: "Applies from the next request.", tone: "good" });
      onClose();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (update.isPending) return;
    const patch = { ...toPatch(before, typed), ...(isPaused !== row.isPaused && { enabled: !isPaused }) };
    if (Object.keys(patch).length === 0) onClose();
    else update.mutate({ id: row.id, patch });
  };
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={`Edit ${kind.noun} ${name}${row.owner === undefined ? "" : ` of ${row.owner}`}`}
      size="sm"
      keepOnOutsidePress
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={form} variant="primary" busy={update.isPending}>
            Save
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className="flex flex-col gap-3">
        <TermFields typed={typed} onChange={setTyped} hasModels={kind.hasModels} />
        <SwitchField
          label="Paused"
          hint="Requests are refused until it is resumed."
          checked={isPaused}
          onCheckedChange={setPaused}
        />
        {update.error !== null && <ErrorNotice failure={update.error} />}
      </form>
      <SecretLimits id={row.id} isKey={kind.noun === "key"} name={name} owner={row.owner} />
    </Dialog>
  );
}
