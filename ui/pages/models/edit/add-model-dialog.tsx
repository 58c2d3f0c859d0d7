import { createModel, type Model, type Provider } from "../../../api/catalog.ts";
import { useToast } from "../../../components/toast.tsx";
import { FormDialog } from "../../../form/form-dialog.tsx";
import { readTerms } from "../../../form/read-terms.ts" with { type: "macro" };
import { useForm } from "../../../form/use-form.ts";
import { ModelFields } from "./model-fields.tsx";
import { findMissing, NEW_MODEL, toModelDraft, type ModelForm } from "./model-form.ts";

export interface AddModelDialogProps {
  /** What is known of it already. */
  readonly begin: Partial<ModelForm>;
  readonly models: readonly Model[];
  readonly providers: readonly Provider[];
  readonly onClose: () => void;
}

/** Declares a model by hand, or a further name for one. */
export function AddModelDialog({ begin, models, providers, onClose }: AddModelDialogProps) {
  const { notify } = useToast();
  const only = providers.length === 1 ? providers[0]?.name : undefined;
  const form = useForm({
    name: "create-model",
    begin: { ...NEW_MODEL, provider: only ?? "", ...begin },
    terms: readTerms("ModelCreateRequest"),
    check: findMissing(true),
    change: createModel,
    toAsked: toModelDraft,
    onSaved: ({ alias }) => {
      notify({ title: `${alias} added`, body: "It can be called now.", tone: "good" });
      onClose();
    },
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title="Add model"
      description="To add many at once, discover the models of a provider under Providers"
      submit="Add model"
      underWay="Adding…"
    >
      <ModelFields
        form={form}
        onKindChange={(kind) => form.set({ kind })}
        models={models}
        providers={providers}
        alias={null}
      />
    </FormDialog>
  );
}
