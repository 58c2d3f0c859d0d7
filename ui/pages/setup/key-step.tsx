import { createMyKey } from "../../api/my.ts";
import { TextField } from "../../components/text-field.tsx";
import { Form, SubmitButton } from "../../form/form.tsx";
import { useForm } from "../../form/use-form.ts";
import { SECRET_TERMS } from "../../secrets/secret-terms.tsx";

/** A key that was made here; its plaintext lives in the memory of the page until it is left. */
export interface NewKey {
  readonly id: string;
  readonly suffix: string;
  readonly secret: string;
}

const FIRST = { label: "first key" };

/** The third step: a key of the reader's own. */
export function KeyStep({ onCreated }: { readonly onCreated: (key: NewKey) => void }) {
  const form = useForm({
    name: "create-first-key",
    begin: FIRST,
    terms: SECRET_TERMS,
    change: createMyKey,
    toAsked: ({ label }) => ({ label: label.trim() }),
    onSaved: ({ id, key, key_suffix: suffix }) => onCreated({ id, suffix, secret: key }),
  });
  return (
    <Form form={form}>
      <div className="flex flex-wrap items-end gap-2">
        <TextField label="Label" {...form.field("label")} className="min-w-48 flex-1 sm:max-w-sm" />
        <SubmitButton form={form} underWay="Creating…">
          Create key
        </SubmitButton>
      </div>
    </Form>
  );
}
