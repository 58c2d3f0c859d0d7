import type { ReactNode } from "react";
import { updateProvider, type ProviderDetails } from "../../../api/catalog.ts";
import { Form } from "../../../form/form.tsx";
import { readTerms } from "../../../form/read-terms.ts" with { type: "macro" };
import { REQUIRED } from "../../../form/terms.ts";
import { type Form as FormState, useForm } from "../../../form/use-form.ts";
import { ConnectionFields } from "../../../providers/connection-fields.tsx";
import { toProviderForm, toProviderPatch, type ProviderForm } from "../../../providers/provider-form.ts";

export interface EditFormProps {
  /** The form begins with this one; a key on the name makes another form for another provider. */
  readonly provider: ProviderDetails;
  readonly onSaved: () => void;
  readonly buttons: (form: FormState<ProviderForm>) => ReactNode;
}

/** The connection of a provider that exists: only what was changed is sent. */
export function EditForm({ provider, onSaved, buttons }: EditFormProps) {
  const form = useForm({
    name: "edit-provider",
    begin: toProviderForm(provider),
    terms: readTerms("ProviderPatchRequest"),
    check: ({ baseUrl }) => ({ base_url: baseUrl.trim() === "" ? REQUIRED : undefined }),
    change: updateProvider,
    stored: { kind: "provider", view: provider },
    toAsked: (values, from) => {
      const patch = toProviderPatch(values, provider);
      return Object.keys(patch).length === 0 ? null : { name: provider.name, patch, from };
    },
    done: (saved) => ({ title: `${saved.name} saved`, body: "Applies from the next request." }),
    onClose: onSaved,
  });
  return (
    <>
      <Form form={form}>
        <ConnectionFields form={form} before={provider} />
      </Form>
      {buttons(form)}
    </>
  );
}
