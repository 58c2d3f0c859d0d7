import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { listedModelsQuery } from "../api/models.ts";
import { Chip } from "../components/chip.tsx";
import { ComboField } from "../components/combo-field.tsx";
import { Icon } from "../components/icon.tsx";

export interface ModelsFieldProps {
  /** Aliases that were chosen. */
  readonly chosen: readonly string[];
  /** Text that stands in the field, and counts as well. */
  readonly typed: string;
  readonly onChange: (part: { readonly models?: readonly string[]; readonly typedModel?: string }) => void;
  readonly error: string | undefined;
  readonly hint: string;
  /** What it means that no model has such a name, after the sentence that says so. */
  readonly toMissingNote: (missing: readonly string[]) => string;
  readonly required?: boolean | undefined;
}

/** Models picked among those that there are, or written by their names. */
export function ModelsField(props: ModelsFieldProps): ReactNode {
  const { chosen, typed, onChange, error, hint, toMissingNote, required } = props;
  const { data: models } = useQuery(listedModelsQuery({ includeHidden: true }));
  const known = new Set(models?.map(({ id }) => id));
  const missing = models === undefined ? [] : toAliases(chosen, typed).filter((alias) => !known.has(alias));
  const add = (text: string) => onChange({ models: toAliases(chosen, text), typedModel: "" });
  return (
    <div className="flex flex-col gap-1.5">
      <ComboField
        label="Models"
        hint={hint}
        mono
        name="models"
        placeholder="Add a model"
        noneText="No model has this name: press Enter to add it all the same"
        options={(models ?? [])
          .filter(({ id }) => !chosen.includes(id))
          .map(({ id, owned_by: provider }) => ({ value: id, detail: provider }))}
        value={typed}
        onValueChange={(typedModel) => onChange({ typedModel })}
        onCommit={add}
        error={error}
        required={required}
      />
      {chosen.length > 0 && (
        <ul aria-label="Chosen models" className="flex flex-wrap gap-1.5">
          {chosen.map((alias) => (
            <li key={alias} className="max-w-full min-w-0">
              <Chip
                tone={missing.includes(alias) ? "warn" : "neutral"}
                title={alias}
                removeLabel={`Remove the model ${alias}`}
                onRemove={() => onChange({ models: chosen.filter((other) => other !== alias) })}
              >
                {alias}
              </Chip>
            </li>
          ))}
        </ul>
      )}
      {missing.length > 0 && (
        <p className="flex items-start gap-1.5 text-xs text-warn">
          <Icon name="warning" size={14} className="mt-px" />
          <span className="min-w-0 break-words">
            There is no model {missing.join(", ")}. {toMissingNote(missing)}
          </span>
        </p>
      )}
    </div>
  );
}

/** Aliases in the order in which they were named, once each; text may name several. */
export function toAliases(chosen: readonly string[], typed: string): readonly string[] {
  return [...new Set([...chosen, ...typed.split(/[,\s]+/).filter((alias) => alias !== "")])];
}
