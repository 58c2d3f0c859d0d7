import { useMutation } from "@tanstack/react-query";
import { deleteLimit, type Limit } from "../../../api/limits.ts";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { useToast } from "../../../components/toast.tsx";
import { toDeleteWords } from "./delete-words.ts";

export interface DeleteLimitProps {
  readonly limit: Limit;
  readonly onClose: () => void;
  readonly onDeleted: () => void;
}

/** Asks before a limit is deleted, and says what changes for requests. */
export function DeleteLimit({ limit, onClose, onDeleted }: DeleteLimitProps) {
  const { notify } = useToast();
  const remove = useMutation({
    ...deleteLimit,
    onSuccess: () => {
      notify({ title: `${limit.name} deleted`, tone: "good" });
      onDeleted();
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={`Delete ${limit.name}?`}
      body={
        <div className="flex flex-col gap-2">
          {toDeleteWords(limit).map((sentence) => (
            <p key={sentence}>{sentence}</p>
          ))}
        </div>
      }
      confirmLabel="Delete limit"
      danger
      busy={remove.isPending}
      notice={remove.error !== null && <ErrorNotice failure={remove.error} />}
      onConfirm={() => remove.mutate({ id: limit.id, from: limit })}
    />
  );
}
