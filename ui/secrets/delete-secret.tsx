import { useMutation } from "@tanstack/react-query";
import type { Change } from "../api/changing.ts";
import { ConfirmDialog } from "../components/confirm-dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { useToast } from "../components/toast.tsx";
import { toSecretName, type SecretRow } from "./secret-row.ts";

export interface DeleteSecretProps {
  readonly row: SecretRow;
  readonly noun: string;
  /** Deletes by id. */
  readonly change: Change<string, { deleted: string }>;
  readonly onClose: () => void;
}

/** Asks for confirmation before a key or a relay token is deleted. */
export function DeleteSecret({ row, noun, change, onClose }: DeleteSecretProps) {
  const { notify } = useToast();
  const name = toSecretName(row);
  const remove = useMutation({
    ...change,
    onSuccess: () => {
      notify({ title: `Deleted ${noun} ${name}`, body: "Requests with it are refused.", tone: "good" });
      onClose();
    },
  });
  const owner = row.owner === undefined ? "" : ` of ${row.owner}`;
  return (
    <ConfirmDialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={`Delete the ${noun} ${name}${owner}?`}
      body="Requests with it are refused immediately. Its past usage stays in the reports."
      confirmLabel={`Delete ${noun}`}
      danger
      busy={remove.isPending}
      notice={remove.error !== null && <ErrorNotice failure={remove.error} />}
      onConfirm={() => remove.mutate(row.id)}
    />
  );
}
