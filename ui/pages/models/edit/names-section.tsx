import { ALIAS_LENGTH_MAX } from "#kernel/text.ts";
import { createModel } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { useToast } from "../../../components/toast.tsx";
import { Form } from "../../../form/form.tsx";
import { readTerms } from "../../../form/read-terms.ts" with { type: "macro" };
import { useForm } from "../../../form/use-form.ts";
import { AliasList } from "../../../catalog/alias-list.tsx";

export interface NamesSectionProps {
  readonly alias: string;
  readonly names: readonly string[];
}

const NOTHING = { alias: "" };

/** Further names under which a model serves, and a field for one more. */
export function NamesSection({ alias, names }: NamesSectionProps) {
  const { notify } = useToast();
  const form = useForm({
    name: "add-model-name",
    begin: NOTHING,
    terms: readTerms("ModelCreateRequest"),
    change: createModel,
    toAsked: (values) => (values.alias.trim() === "" ? null : { alias: values.alias.trim(), target: alias }),
    onSaved: (model) => notify({ title: `${model.alias} is now a name for ${alias}`, tone: "good" }),
  });
  return (
    <section aria-labelledby="model-names" className="flex flex-col gap-2">
      <h3 id="model-names" className="font-semibold">
        Other names
      </h3>
      {names.length === 0 ? (
        <p className="text-ink-soft">
          None. With a name such as “default” you can change the model without changing callers.
        </p>
      ) : (
        <AliasList label={`Other names of ${alias}`} aliases={names} />
      )}
      <Form form={form}>
        <div className="flex flex-wrap items-end gap-2">
          <TextField
            label="Another name"
            {...form.field("alias")}
            mono
            className="min-w-40 flex-1"
            lengthMax={ALIAS_LENGTH_MAX}
          />
          <Button type="submit" icon="plus" busy={form.isPending} disabled={form.values.alias.trim() === ""}>
            Add name
          </Button>
        </div>
      </Form>
    </section>
  );
}
