import { useQuery } from "@tanstack/react-query";
import { listedModelsQuery } from "../../../api/models.ts";
import { principalsQuery } from "../../../api/people.ts";
import { ComboField, type ComboOption } from "../../../components/combo-field.tsx";
import { toFieldError } from "../../../components/field-frame.tsx";
import { TextField } from "../../../components/text-field.tsx";
import type { Form } from "../../../form/use-form.ts";
import type { SecretNames } from "../../../limits/secret-names.ts";
import type { LimitForm } from "./limit-form.ts";

export interface SubjectFieldProps {
  readonly form: Form<LimitForm>;
  readonly names: SecretNames;
}

/** Who in particular a limit holds for; nothing for everyone. */
export function SubjectField({ form, names }: SubjectFieldProps) {
  switch (form.values.who) {
    case "principal":
      return <PrincipalField form={form} />;
    case "key":
      return (
        <ComboField
          label="Key"
          {...toBinding(form, "key", "key")}
          hint="Find it by its owner, its label or its last characters"
          options={toOptions(names.keys.keys())}
          noneText="No such key"
        />
      );
    case "relay_token":
      return (
        <ComboField
          label="Relay token"
          {...toBinding(form, "relayToken", "relay_token")}
          hint="Find it by its owner, its label or its last characters"
          options={toOptions(names.relayTokens.keys())}
          noneText="No such relay token"
        />
      );
    case "tag":
      return (
        <TextField
          label="Tag"
          {...toBinding(form, "tag", "tag")}
          mono
          placeholder="team:search"
          hint="Callers send it in x-proxy-tags: a key, a colon and a value"
        />
      );
    default:
      return null;
  }
}

function PrincipalField({ form }: Pick<SubjectFieldProps, "form">) {
  const principals = useQuery(principalsQuery());
  return (
    <ComboField
      label="Person or service"
      {...toBinding(form, "principal", "principal")}
      options={toOptions((principals.data?.rows ?? []).map(({ name }) => name))}
      noneText="No such person or service"
    />
  );
}

/** The one model that a limit holds for. */
export function LimitedModelField({ form }: Pick<SubjectFieldProps, "form">) {
  const models = useQuery(listedModelsQuery({ includeHidden: true }));
  return (
    <ComboField
      label="Model"
      {...form.field("model", "subject.model")}
      required
      mono
      hint="A renamed model keeps its limits"
      options={toOptions((models.data ?? []).map(({ id }) => id))}
      noneText="No such model yet"
    />
  );
}

/** A refusal of the subject as a whole stands at its field too; one of the model has a field of its own. */
function toBinding(
  form: Form<LimitForm>,
  key: "principal" | "key" | "relayToken" | "tag",
  part: "principal" | "key" | "relay_token" | "tag",
) {
  const { error, ...field } = form.field(key, `subject.${part}`);
  const { failure } = form;
  const isOfModel = toFieldError(failure, "subject.model") !== undefined;
  return {
    ...field,
    required: true,
    error: error ?? (isOfModel ? undefined : toFieldError(failure, "subject")),
  };
}

function toOptions(values: Iterable<string>): readonly ComboOption[] {
  return [...values].map((value) => ({ value }));
}
