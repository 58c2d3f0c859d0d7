import { useMutation } from "@tanstack/react-query";
import { useState, type SubmitEvent } from "react";
import { ALIAS_LENGTH_MAX } from "#kernel/text.ts";
import { createModel } from "../../../api/catalog.ts";
import { Button } from "../../../components/button.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { toFieldError } from "../../../components/field-frame.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { useToast } from "../../../components/toast.tsx";
import { AliasList } from "../../../catalog/alias-list.tsx";

export interface NamesSectionProps {
  readonly alias: string;
  readonly names: readonly string[];
}

/** Further names under which a model serves, and a field for one more. */
export function NamesSection({ alias, names }: NamesSectionProps) {
  const { notify } = useToast();
  const [name, setName] = useState("");
  const add = useMutation({
    ...createModel,
    onSuccess: (model) => {
      notify({ title: `${model.alias} is now a name for ${alias}`, tone: "good" });
      setName("");
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!add.isPending && name.trim() !== "") add.mutate({ alias: name.trim(), target: alias });
  };
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
      <form onSubmit={submit} className="flex flex-wrap items-end gap-2">
        <TextField
          label="Another name"
          mono
          className="min-w-40 flex-1"
          lengthMax={ALIAS_LENGTH_MAX}
          value={name}
          error={toFieldError(add.error, "alias")}
          onValueChange={(text) => {
            add.reset();
            setName(text);
          }}
        />
        <Button type="submit" icon="plus" busy={add.isPending} disabled={name.trim() === ""}>
          Add name
        </Button>
      </form>
      {add.error !== null && <ErrorNotice failure={add.error} compact />}
    </section>
  );
}
