import { useMutation } from "@tanstack/react-query";
import { useId, useState, type ReactNode, type SubmitEvent } from "react";
import { updateProvider, type ProviderDetails } from "../../../api/catalog.ts";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { focusInvalid } from "../../../components/field-frame.tsx";
import { useToast } from "../../../components/toast.tsx";
import { ConnectionFields } from "../../../providers/connection-fields.tsx";
import { toProviderForm, toProviderPatch, type ProviderForm } from "../../../providers/provider-form.ts";

/** What the buttons of the form need; `id` is for a button that stands outside of it. */
export interface EditState {
  readonly id: string;
  readonly isChanged: boolean;
  readonly isPending: boolean;
}

export interface EditFormProps {
  /** The form begins with this one; a key on the name makes another form for another provider. */
  readonly provider: ProviderDetails;
  readonly onSaved?: ((provider: ProviderDetails) => void) | undefined;
  readonly buttons: (state: EditState) => ReactNode;
}

/** The connection of a provider that exists: only what was changed is sent. */
export function EditForm({ provider, onSaved, buttons }: EditFormProps) {
  const id = useId();
  const { notify } = useToast();
  const [form, setForm] = useState<ProviderForm>(() => toProviderForm(provider));
  const update = useMutation({
    ...updateProvider,
    onSuccess: (saved) => {
      setForm(toProviderForm(saved));
      notify({ title: `${saved.name} saved`, body: "Applies from the next request.", tone: "good" });
      onSaved?.(saved);
    },
  });
  const change = (part: Partial<ProviderForm>) => {
    update.reset();
    setForm((before) => ({ ...before, ...part }));
  };
  const patch = toProviderPatch(form, provider);
  const isChanged = Object.keys(patch).length > 0;
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (update.isPending || focusInvalid(event.currentTarget)) return;
    if (isChanged) update.mutate({ name: provider.name, patch });
    else onSaved?.(provider);
  };
  return (
    <>
      <form id={id} onSubmit={submit} className="flex flex-col gap-4">
        <ConnectionFields form={form} onChange={change} before={provider} failure={update.error} />
        {update.error !== null && <ErrorNotice failure={update.error} />}
      </form>
      {buttons({ id, isChanged, isPending: update.isPending })}
    </>
  );
}
