import { useId } from "react";
import { createLimit, type Limit } from "../../../api/limits.ts";
import { Button } from "../../../components/button.tsx";
import { FormDialog } from "../../../form/form-dialog.tsx";
import { useForm } from "../../../form/use-form.ts";
import { useSecretNames } from "../../../limits/secret-names.ts";
import { AmountFields, NameField } from "./amount-fields.tsx";
import {
  findLimitFaults,
  LIMIT_TERMS,
  NEW_LIMIT,
  RECIPES,
  toLimitDraft,
  toMeaning,
  toName,
  toRecipeForm,
} from "./limit-form.ts";
import { ScopeFields } from "./scope-fields.tsx";

export interface CreateLimitProps {
  /** Whom the form begins with; their monthly budget is what it asks for first. */
  readonly person?: string | undefined;
  readonly onClose: () => void;
  readonly onCreated: (limit: Limit) => void;
}

/** Makes a limit, from a recipe or from nothing. */
export function CreateLimit({ person, onClose, onCreated }: CreateLimitProps) {
  const recipes = useId();
  const form = useForm({
    name: "create-limit",
    begin: person === undefined ? NEW_LIMIT : { ...NEW_LIMIT, who: "principal", principal: person },
    terms: LIMIT_TERMS,
    check: findLimitFaults,
    change: createLimit,
    toAsked: (values) => toLimitDraft(values, names),
    onSaved: onCreated,
  });
  const { values } = form;
  const names = useSecretNames({ keys: values.who === "key", relayTokens: values.who === "relay_token" });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title="Make a limit"
      description="Applies from the next request, and counts what its window already holds"
      submit="Make limit"
      underWay="Making…"
    >
      <div role="group" aria-labelledby={recipes} className="flex flex-wrap gap-1.5">
        <span id={recipes} className="w-full text-xs font-medium">
          Start from
        </span>
        {RECIPES.map((recipe) => (
          <Button key={recipe.label} size="sm" onClick={() => form.set(toRecipeForm(recipe, values))}>
            {recipe.label}
          </Button>
        ))}
      </div>
      <ScopeFields form={form} names={names} />
      <AmountFields form={form} />
      <NameField form={form} suggested={toName(values, names)} />
      <p role="status" className="text-ink-soft empty:hidden">
        {toMeaning(values, names)}
      </p>
    </FormDialog>
  );
}
