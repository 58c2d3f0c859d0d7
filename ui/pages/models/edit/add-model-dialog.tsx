import { useMutation } from "@tanstack/react-query";
import { useId, useState, type SubmitEvent } from "react";
import { createModel, type Model, type Provider } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { Dialog } from "../../../components/dialog.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { focusInvalid } from "../../../components/field-frame.tsx";
import { useToast } from "../../../components/toast.tsx";
import { ModelFields } from "./model-fields.tsx";
import { NEW_MODEL, toModelDraft, type ModelForm } from "./model-form.ts";

export interface AddModelDialogProps {
  /** What is known of it already. */
  readonly begin: Partial<ModelForm>;
  readonly models: readonly Model[];
  readonly providers: readonly Provider[];
  readonly onClose: () => void;
}

/** Declares a model by hand, or a further name for one. */
export function AddModelDialog({ begin, models, providers, onClose }: AddModelDialogProps) {
  const id = useId();
  const { notify } = useToast();
  const only = providers.length === 1 ? providers[0]?.name : undefined;
  const [form, setForm] = useState<ModelForm>({ ...NEW_MODEL, provider: only ?? "", ...begin });
  const create = useMutation({
    ...createModel,
    onSuccess: ({ alias }) => {
      notify({ title: `${alias} added`, body: "It can be called now.", tone: "good" });
      onClose();
    },
  });
  const change = (part: Partial<ModelForm>) => {
    create.reset();
    setForm((before) => ({ ...before, ...part }));
  };
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!create.isPending && !focusInvalid(event.currentTarget)) create.mutate(toModelDraft(form));
  };
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      keepOnOutsidePress
      title="Add model"
      description="To add many at once, discover the models of a provider under Providers"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={id} variant="primary" busy={create.isPending}>
            Add model
          </Button>
        </>
      }
    >
      <form id={id} onSubmit={submit} className="flex flex-col gap-4">
        <ModelFields
          form={form}
          onChange={change}
          onKindChange={(kind) => change({ kind })}
          models={models}
          providers={providers}
          alias={null}
          failure={create.error}
        />
        {create.error !== null && <ErrorNotice failure={create.error} />}
      </form>
    </Dialog>
  );
}
