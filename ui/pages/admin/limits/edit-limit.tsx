import { type Limit, updateLimit } from "../../../api/limits.ts";
import { SwitchField } from "../../../components/choice-field.tsx";
import { useToast } from "../../../components/toast.tsx";
import { Form, SubmitButton } from "../../../form/form.tsx";
import { useForm } from "../../../form/use-form.ts";
import { AmountFields, NameField } from "./amount-fields.tsx";
import { findLimitFaults, LIMIT_TERMS, toHeldWords, toLimitForm, toLimitPatch } from "./limit-form.ts";

/** What of a limit may change; only what was changed is sent. */
export function EditLimit({ limit }: { readonly limit: Limit }) {
  const { notify } = useToast();
  const form = useForm({
    name: "edit-limit",
    begin: toLimitForm(limit),
    terms: LIMIT_TERMS,
    check: findLimitFaults,
    change: updateLimit,
    stored: { kind: "limit", view: limit },
    toAsked: (values, from) => {
      const asked = toLimitPatch(values, limit);
      return asked && { ...asked, from };
    },
    onSaved: (saved) =>
      notify({
        title: `${saved.name} saved`,
        body: `${toHeldWords(saved)} Applies from the next request.`,
        tone: "good",
      }),
  });
  return (
    <Form form={form}>
      <NameField form={form} suggested="" />
      <AmountFields form={form} />
      <SwitchField
        label="Enabled"
        hint="One that is off goes on counting, and neither refuses nor warns"
        checked={form.values.enabled}
        onCheckedChange={(enabled) => form.set({ enabled })}
      />
      <p className="text-xs text-ink-soft">
        Whom it holds for and what it measures cannot be changed. Make another limit instead.
      </p>
      <SubmitButton form={form} underWay="Saving…" disabled={!form.isChanged} className="self-start">
        Save changes
      </SubmitButton>
    </Form>
  );
}
