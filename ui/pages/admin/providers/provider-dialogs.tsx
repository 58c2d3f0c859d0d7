import { useMutation } from "@tanstack/react-query";
import { deleteProvider, updateProvider, type Model, type ProviderDetails } from "../../../api/catalog.ts";
import { useUndo } from "../../../api/undo.ts";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { useToast } from "../../../components/toast.tsx";
import { AliasList } from "../../../catalog/alias-list.tsx";

export interface ProviderQuestionProps {
  readonly provider: string;
  /** Models that it serves, names for them included. */
  readonly models: readonly Model[];
  readonly onClose: () => void;
}

/** Asks before a provider stops serving, and says which names stop with it. */
export function DisableDialog({ provider, models, onClose }: ProviderQuestionProps) {
  const { notify } = useToast();
  const undo = useUndo();
  const disable = useMutation({
    ...updateProvider,
    onSuccess: (from) => {
      notify({
        title: `${provider} is disabled`,
        body: "Nothing was deleted.",
        tone: "good",
        action: undo(
          updateProvider,
          { name: provider, patch: { enabled: true }, from },
          `${provider} is enabled again`,
        ),
      });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={`Disable ${provider}?`}
      body={
        <>
          <p>
            {models.length === 0
              ? "No model uses it, so no request is refused."
              : "Until it is enabled again, these models are not listed, and requests for them are refused with model_not_found:"}
          </p>
          {models.length > 0 && <AliasList label="Disabled models" aliases={toAliases(models)} />}
        </>
      }
      confirmLabel="Disable provider"
      danger
      busy={disable.isPending}
      notice={disable.error !== null && <ErrorNotice failure={disable.error} />}
      onConfirm={() => disable.mutate({ name: provider, patch: { enabled: false } })}
    />
  );
}

export interface DeleteDialogProps extends Omit<ProviderQuestionProps, "provider"> {
  readonly provider: ProviderDetails;
  /** Fulfilled when nothing on the page asks for the provider any more. */
  readonly onDeleted: () => Promise<void>;
}

/** Asks, with its name typed, before a provider and everything that routes to it is removed. */
export function DeleteDialog({ provider: from, models, onClose, onDeleted }: DeleteDialogProps) {
  const { notify } = useToast();
  const { name: provider } = from;
  const remove = useMutation({
    ...deleteProvider,
    onSuccess: async () => {
      notify({ title: `${provider} deleted`, tone: "good" });
      await onDeleted();
    },
  });
  const bindings = models.filter(({ target }) => target === null);
  const names = models.filter(({ target }) => target !== null);
  return (
    <ConfirmDialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={`Delete ${provider}?`}
      body={
        <div className="flex flex-col gap-2">
          <p>Its address, key and settings are removed. Past usage stays in the reports.</p>
          {bindings.length > 0 && (
            <div>
              <p>Its models are removed too:</p>
              <AliasList label="Models removed with it" aliases={toAliases(bindings)} />
            </div>
          )}
          {names.length > 0 && (
            <div>
              <p>and these other names of them:</p>
              <AliasList label="Names removed with it" aliases={toAliases(names)} />
            </div>
          )}
          {models.length > 0 && <p>Requests for any of these are refused.</p>}
        </div>
      }
      confirmLabel="Delete provider"
      requireText={provider}
      danger
      busy={remove.isPending}
      notice={remove.error !== null && <ErrorNotice failure={remove.error} />}
      onConfirm={() => remove.mutate({ name: provider, from })}
    />
  );
}

function toAliases(models: readonly Model[]): readonly string[] {
  return models.map(({ alias }) => alias);
}
