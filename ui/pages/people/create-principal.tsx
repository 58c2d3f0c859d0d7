import { type PrincipalDraft, PRINCIPALS } from "../../api/people.ts";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";
import { FormDialog } from "../../form/form.tsx";
import { readTerms } from "../../form/read-terms.ts" with { type: "macro" };
import { useForm } from "../../form/use-form.ts";
import { FixedTagsField, toTags } from "../../secrets/secret-terms.tsx";

export interface CreatePrincipalProps {
  readonly onClose: () => void;
  readonly onCreated: (principal: { readonly id: string; readonly name: string }) => void;
}

export const ROLES = [
  { value: "member", label: "Member", detail: "Calls models and sees the team’s usage" },
  { value: "admin", label: "Admin", detail: "Also manages providers, models, people and keys" },
] as const;

const NEW: Required<Omit<PrincipalDraft, "tags">> & { readonly tags: string } = {
  name: "",
  kind: "user",
  role: "member",
  tags: "",
};

/** Adds a person or a service that can call models. */
export function CreatePrincipal({ onClose, onCreated }: CreatePrincipalProps) {
  const form = useForm({
    name: "create-principal",
    begin: NEW,
    terms: readTerms("PrincipalCreateRequest"),
    change: PRINCIPALS.create,
    toAsked: ({ tags, ...values }) => ({
      ...values,
      name: values.name.trim(),
      ...(toTags(tags) !== null && { tags: toTags(tags) }),
    }),
    done: ({ name }) => ({ title: `${name} added`, body: "Create a key for them next." }),
    onSaved: onCreated,
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title="Add person or service"
      size="sm"
      submit="Add"
      underWay="Adding…"
    >
      <TextField
        label="Name"
        {...form.field("name")}
        autoFocus
        mono
        hint="Shown in reports and cannot be changed. Lower-case letters, digits, dot, dash and underscore, such as ada.lovelace or ci-runner."
      />
      <SelectField
        label="Kind"
        {...form.field("kind")}
        options={[
          { value: "user", label: "User", detail: "A person" },
          { value: "service", label: "Service", detail: "A program with its own keys" },
        ]}
      />
      <SelectField label="Role" {...form.field("role")} options={ROLES} />
      <FixedTagsField {...form.field("tags")} />
    </FormDialog>
  );
}
