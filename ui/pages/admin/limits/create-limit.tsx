import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useId, useState } from "react";
import { createLimit, type Limit } from "../../../api/limits.ts";
import { Button } from "../../../components/button.tsx";
import { Dialog } from "../../../components/dialog.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { focusInvalid } from "../../../components/field-frame.tsx";
import { useSecretNames } from "../../../limits/secret-names.ts";
import { AmountFields, NameField, ScopeFields } from "./limit-fields.tsx";
import {
  isToldWhom,
  type LimitForm,
  NEW_LIMIT,
  RECIPES,
  toLimitDraft,
  toMeaning,
  toName,
  toRecipeForm,
} from "./limit-form.ts";

export interface CreateLimitProps {
  readonly onClose: () => void;
  readonly onCreated: (limit: Limit) => void;
}

/** Makes a limit, from a recipe or from nothing. */
export function CreateLimit({ onClose, onCreated }: CreateLimitProps) {
  const [form, setForm] = useState<LimitForm>(NEW_LIMIT);
  const id = useId();
  const recipes = useId();
  const names = useSecretNames({ keys: form.who === "key", relayTokens: form.who === "relay_token" });
  const create = useMutation({ ...createLimit, onSuccess: onCreated });
  const change = (part: Partial<LimitForm>) => {
    create.reset();
    setForm((before) => ({ ...before, ...part }));
  };
  const draft = toLimitDraft(form, names);
  const isTold = draft !== null && isToldWhom(form) && draft.name.trim() !== "";
  const submit = (event: SubmitEvent<HTMLFormElement>) => {
    event.preventDefault();
    if (isTold && !create.isPending && !focusInvalid(event.currentTarget)) create.mutate(draft);
  };
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      keepOnOutsidePress
      title="Make a limit"
      description="Applies from the next request, and counts what its window already holds"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form={id} variant="primary" busy={create.isPending} disabled={!isTold}>
            Make limit
          </Button>
        </>
      }
    >
      <form id={id} onSubmit={submit} className="flex flex-col gap-4">
        <div role="group" aria-labelledby={recipes} className="flex flex-wrap gap-1.5">
          <span id={recipes} className="w-full text-xs font-medium">
            Start from
          </span>
          {RECIPES.map((recipe) => (
            <Button key={recipe.label} size="sm" onClick={() => change(toRecipeForm(recipe, form))}>
              {recipe.label}
            </Button>
          ))}
        </div>
        <ScopeFields form={form} onChange={change} failure={create.error} names={names} />
        <AmountFields form={form} onChange={change} failure={create.error} />
        <NameField form={form} onChange={change} failure={create.error} suggested={toName(form, names)} />
        <p role="status" className="text-ink-soft empty:hidden">
          {toMeaning(form, names)}
        </p>
        {create.error !== null && <ErrorNotice failure={create.error} />}
      </form>
    </Dialog>
  );
}
