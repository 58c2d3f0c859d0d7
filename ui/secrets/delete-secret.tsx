import { useMutation } from "@tanstack/react-query";
import type { Change } from "../api/changing.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { useToast } from "../components/toast.tsx";
import { toSecretName, type SecretRow } from "./secret-table.tsx";

export interface DeleteSecretProps {
  readonly row: SecretRow;
  readonly noun: "key" | "relay token";
  /** Deletes by id. */
  readonly change: Change<string, { deleted: string }>;
  readonly onClose: () => void;
}

/** Asks before a key or a relay token stops working. */
export function DeleteSecret({ row, noun, change, onClose }: DeleteSecretProps) {
  const { notify } = useToast();
  const name = toSecretName(row);
  const remove = useMutation({
    ...change,
    onSuccess: () => {
      notify({ title: `Deleted ${noun} ${name}`, body: "Its next request is refused.", tone: "good" });
      onClose();
    },
  });
  const owner = row.owner === undefined ? "" : ` of ${row.owner}`;
  return (
    <ConfirmDialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={`Delete the ${noun} ${name}${owner}?`}
      body="Whatever uses it is refused from its next request on. What it has used so far stays in the reports."
      confirmLabel={`Delete ${noun}`}
      danger
      busy={remove.isPending}
      notice={remove.error !== null && <ErrorNotice failure={remove.error} />}
      onConfirm={() => remove.mutate(row.id)}
    />
  );
}
