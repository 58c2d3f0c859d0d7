import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";
import { type Limit, updateLimit } from "../../../api/limits.ts";
import { Button } from "../../../components/button.tsx";
import { SwitchField } from "../../../components/choice-field.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { focusInvalid } from "../../../components/field-frame.tsx";
import { useToast } from "../../../components/toast.tsx";
import { AmountFields, NameField } from "./limit-fields.tsx";
import { type LimitForm, toHeldWords, toLimitForm, toLimitPatch } from "./limit-form.ts";

/** What of a limit may change; only what was changed is sent. */
export function EditLimit({ limit }: { readonly limit: Limit }) {
  const { notify } = useToast();
  const [form, setForm] = useState<LimitForm>(() => toLimitForm(limit));
  const update = useMutation({
    ...updateLimit,
    onSuccess: (saved) => {
      setForm(toLimitForm(saved));
      notify({
        title: `${saved.name} saved`,
        body: `${toHeldWords(saved)} Applies from the next request.`,
        tone: "good",
      });
    },
  });
  const change = (part: Partial<LimitForm>) => {
    update.reset();
    setForm((before) => ({ ...before, ...part }));
  };
  const patch = toLimitPatch(form, limit);
  const isChanged = patch !== null && Object.keys(patch).length > 0;
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (!isChanged || update.isPending || focusInvalid(event.currentTarget)) return;
    update.mutate({ id: limit.id, patch });
  };
  const fields = { form, onChange: change, failure: update.error };
  return (
    <form onSubmit={submit} className="flex flex-col gap-4">
      <NameField {...fields} suggested="" />
      <AmountFields {...fields} />
      <SwitchField
        label="Enabled"
        hint="One that is off goes on counting, and neither refuses nor warns"
        checked={form.enabled}
        onCheckedChange={(enabled) => change({ enabled })}
      />
      <p className="text-xs text-ink-soft">
        Whom it holds for and what it measures cannot be changed. Make another limit instead.
      </p>
      {update.error !== null && <ErrorNotice failure={update.error} />}
      <Button
        type="submit"
        variant="primary"
        busy={update.isPending}
        disabled={!isChanged}
        className="self-start"
      >
        Save changes
      </Button>
    </form>
  );
}
