import { useMutation } from "@tanstack/react-query";
import { deleteModel, type Model } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { Dialog } from "../../../components/dialog.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { useToast } from "../../../components/toast.tsx";
import { AliasList } from "../../../catalog/alias-list.tsx";

export interface DeleteModelDialogProps {
  readonly model: Model;
  /** Names that lead to it, which keep it from being deleted. */
  readonly names: readonly string[];
  readonly onDeleted: () => void;
  readonly onClose: () => void;
}

/** Asks before a model is deleted; one that names lead to says which, and where to change them. */
export function DeleteModelDialog({ model, names, onDeleted, onClose }: DeleteModelDialogProps) {
  const { alias } = model;
  const { notify } = useToast();
  const remove = useMutation({
    ...deleteModel,
    onSuccess: () => {
      notify({ title: `${alias} deleted`, body: "Past usage stays in the reports.", tone: "good" });
      onDeleted();
    },
  });
  if (names.length > 0) {
    return (
      <Dialog
        open
        onOpenChange={(next) => !next && onClose()}
        size="sm"
        title={`${alias} is in use`}
        description="It cannot be deleted while it has these other names. Delete them or change their target first."
        footer={<Button onClick={onClose}>Close</Button>}
      >
        <AliasList label={`Other names of ${alias}`} aliases={names} />
        {remove.error !== null && (
          <div className="mt-3">
            <ErrorNotice failure={remove.error} compact />
          </div>
        )}
      </Dialog>
    );
  }
  return (
    <ConfirmDialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={`Delete ${alias}?`}
      body="Requests for it are refused with model_not_found immediately, and prices set with the model are deleted. Past usage stays in the reports."
      confirmLabel="Delete model"
      danger
      busy={remove.isPending}
      notice={remove.error !== null && <ErrorNotice failure={remove.error} />}
      onConfirm={() => remove.mutate({ alias, from: model })}
    />
  );
}
