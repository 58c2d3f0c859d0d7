import { useQuery } from "@tanstack/react-query";
import { useId } from "react";
import { LIMIT_MEASURES, type LimitWindow, MEASURES } from "#limits/limit.ts";
import { changing } from "../../api/changing.ts";
import { type Limit, type LimitDraft, LIMITS } from "../../api/limits.ts";
import { PRINCIPALS } from "../../api/people.ts";
import { listedModelsQuery } from "../../api/models.ts";
import { Button } from "../../components/button.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import { ComboField, type ComboOption } from "../../components/combo-field.tsx";
import { toFieldError } from "../../components/field-frame.tsx";
import { NumberField } from "../../components/number-field.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";
import { Form, FormDialog, SubmitButton } from "../../form/form.tsx";
import { type Form as FormState, useForm } from "../../form/use-form.ts";
import { toHeldWords } from "../../limits/limit-words.ts";
import { type SecretNames, useSecretNames } from "../../limits/secret-names.ts";
import { LimitConsequence } from "./limit-consequence.tsx";
import {
  type EachKind,
  findLimitFaults,
  findSameLimit,
  isByTag,
  LIMIT_TERMS,
  type LimitForm,
  NEW_LIMIT,
  RECIPES,
  type SubjectKind,
  toLimitDraft,
  toLimitForm,
  toLimitPatch,
  toName,
  toRecipeForm,
} from "./limit-form.ts";

export interface CreateLimitProps {
  /** What the form begins with. */
  readonly begin: Partial<LimitForm>;
  readonly onClose: () => void;
  readonly onSaved: (limit: Limit, isNew: boolean) => void;
}

type Saved = Parameters<typeof LIMITS.update.run>[0] | { readonly draft: LimitDraft };

/** Makes a limit, or changes the one that is the same but for its settings. */
const SAVE = changing(
  (asked: Saved) => ("draft" in asked ? LIMITS.create.run(asked.draft) : LIMITS.update.run(asked)),
  LIMITS.create.refresh,
);

/** Creates a limit, from a recipe or from nothing. */
export function CreateLimit({ begin, onClose, onSaved }: CreateLimitProps) {
  const recipes = useId();
  const form = useForm({
    name: "create-limit",
    begin: { ...NEW_LIMIT, ...begin },
    terms: LIMIT_TERMS,
    check: findLimitFaults,
    change: SAVE,
    toAsked: (values): Saved | null => {
      if (same !== undefined) return { id: same.id, patch: toLimitPatch(values, same), from: same };
      const draft = toLimitDraft(values, names);
      return draft && { draft };
    },
    onSaved: (limit, asked) => onSaved(limit, "draft" in asked),
  });
  const { values } = form;
  const names = useSecretNames({ keys: values.who === "key", relayTokens: values.who === "relay_token" });
  const limits = useQuery(LIMITS.list());
  const same = findSameLimit(values, names, limits.data?.rows ?? []);
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title="New limit"
      description="Applies from the next request. Use already recorded in the window counts."
      submit={same === undefined ? "Create" : "Change"}
      underWay="Saving…"
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
      <NameField form={form} suggested={same?.name ?? toName(values, names)} />
      <LimitConsequence form={values} names={names} changed={same} />
    </FormDialog>
  );
}

/** What of a limit may change; only what was changed is sent. */
export function EditLimit({ limit }: { readonly limit: Limit }) {
  const form = useForm({
    name: "edit-limit",
    begin: toLimitForm(limit),
    terms: LIMIT_TERMS,
    check: findLimitFaults,
    change: LIMITS.update,
    stored: { kind: "limit", view: limit },
    toAsked: (values, from) => {
      const patch = toLimitPatch(values, limit);
      return Object.keys(patch).length === 0 ? null : { id: limit.id, patch, from };
    },
    done: (saved) => ({
      title: `${saved.name} saved`,
      body: `${toHeldWords(saved)} Applies from the next request.`,
    }),
  });
  return (
    <Form form={form}>
      <NameField form={form} suggested="" />
      <AmountFields form={form} />
      <SwitchField
        label="Enabled"
        hint="When off, use is still counted, but nothing is refused or warned about"
        checked={form.values.enabled}
        onCheckedChange={(enabled) => form.set({ enabled })}
      />
      <p className="text-xs text-ink-soft">
        Who it applies to and what it measures cannot be changed. Create another limit instead.
      </p>
      <SubmitButton form={form} underWay="Saving…" disabled={!form.isChanged} className="self-start">
        Save changes
      </SubmitButton>
    </Form>
  );
}

const WHO = [
  { value: "everybody", label: "Everyone" },
  { value: "principal", label: "One person or service" },
  { value: "key", label: "One key" },
  { value: "relay_token", label: "One relay token" },
  { value: "tag", label: "One tag", detail: "Requests that carry it, such as team:search" },
] as const satisfies readonly {
  readonly value: SubjectKind;
  readonly label: string;
  readonly detail?: string;
}[];

const EACH = [
  { value: "together", label: "Total", detail: "All of them share one amount" },
  { value: "principal", label: "For each person", detail: "Each person has an amount of their own" },
  { value: "key", label: "For each key", detail: "Each key has an amount of its own" },
  {
    value: "tag",
    label: "For each value of a tag",
    detail: "Each team or app has an amount of its own",
  },
] as const satisfies readonly { readonly value: EachKind; readonly label: string; readonly detail: string }[];

const MEASURE_OPTIONS = LIMIT_MEASURES.map((value) => {
  const { label, detail } = MEASURES[value];
  return { value, label, detail };
});

/** Who a limit applies to and what it counts. Neither can be changed later. */
function ScopeFields(props: SubjectFieldProps) {
  const { form } = props;
  const { each, hasModel } = form.values;
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField label="Applies to" {...form.field("who")} options={WHO} />
        <SelectField
          label="Counted"
          {...form.field("each")}
          options={EACH}
          error={each === "tag" ? undefined : form.findError("each")}
        />
      </div>
      <SubjectField {...props} />
      {each === "tag" && (
        <TextField
          label="Tag key"
          {...form.field("tagKey", "each")}
          required
          mono
          placeholder="team"
          hint="The part of the tag before the colon"
        />
      )}
      {isByTag(form.values) && (
        <SwitchField
          label="Only fixed tags"
          hint="Counts tags that an admin set on people and keys. When off, tags that callers send count too."
          checked={form.values.fixed}
          onCheckedChange={(fixed) => form.set({ fixed })}
        />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Models"
          options={[
            { value: "any", label: "Any model" },
            { value: "one", label: "One model", detail: "By the name that callers use" },
          ]}
          value={hasModel ? "one" : "any"}
          onValueChange={(kind) => form.set({ hasModel: kind === "one" })}
        />
        <SelectField label="Measure" {...form.field("measure")} options={MEASURE_OPTIONS} />
      </div>
      {hasModel && <LimitedModelField form={form} />}
    </>
  );
}

interface SubjectFieldProps {
  readonly form: FormState<LimitForm>;
  readonly names: SecretNames;
}

/** The one person, key or tag that a limit applies to; nothing for everyone. */
function SubjectField({ form, names }: SubjectFieldProps) {
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
  const principals = useQuery(PRINCIPALS.list());
  return (
    <ComboField
      label="Person or service"
      {...toBinding(form, "principal", "principal")}
      options={toOptions((principals.data?.rows ?? []).map(({ name }) => name))}
      noneText="No such person or service"
    />
  );
}

function LimitedModelField({ form }: Pick<SubjectFieldProps, "form">) {
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
  form: FormState<LimitForm>,
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

interface AmountFieldsProps {
  readonly form: FormState<LimitForm>;
}

const WINDOWS = [
  { value: "minute", label: "Minute", detail: "The last 60 seconds, at any time" },
  { value: "hour", label: "Hour", detail: "The last 60 minutes, at any time" },
  { value: "day", label: "Day", detail: "Resets at midnight UTC" },
  { value: "week", label: "Week", detail: "Resets on Monday, 00:00 UTC" },
  { value: "month", label: "Month", detail: "Resets on the first, 00:00 UTC" },
  { value: "total", label: "Total", detail: "Never resets" },
] as const satisfies readonly {
  readonly value: LimitWindow;
  readonly label: string;
  readonly detail: string;
}[];

/** How much, in which time, and what happens then. */
function AmountFields({ form }: AmountFieldsProps) {
  const { measure } = form.values;
  const isCost = measure === "cost";
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <NumberField
          label="Amount"
          {...form.field("amount")}
          required
          integer={!isCost}
          min={isCost ? undefined : 1}
          prefix={isCost ? "$" : undefined}
          suffix={MEASURES[measure].noun ?? undefined}
        />
        {measure !== "concurrent" && (
          <SelectField label="Window" {...form.field("window")} options={WINDOWS} />
        )}
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="When used up"
          {...form.field("action")}
          options={[
            { value: "refuse", label: "Refuse requests", detail: "429 limit_exceeded, until it resets" },
            { value: "warn", label: "Warn", detail: "Requests pass, with x-proxy-limit-warning" },
          ]}
        />
        {isCost && (
          <SelectField
            label="Models without a price"
            {...form.field("unpriced")}
            options={[
              {
                value: "allow",
                label: "Allow",
                detail: "Their cost is unknown and not counted",
              },
              { value: "refuse", label: "Refuse", detail: "Until an admin sets a price" },
            ]}
          />
        )}
      </div>
      {measure !== "concurrent" && (
        <NumberField
          label="Requests without usage"
          {...form.field("unknown")}
          integer
          min={1}
          placeholder="Any number"
          hint="Refuses after this many requests in the window ended before their usage was reported, such as canceled streams"
        />
      )}
    </>
  );
}

/** The name, which stands in refusals. `suggested` is used until another name is typed. */
function NameField({ form, suggested }: AmountFieldsProps & { readonly suggested: string }) {
  const { value, ...field } = form.field("name");
  return (
    <TextField
      label="Name"
      {...field}
      value={value ?? suggested}
      required
      hint="Shown to callers in refusals"
    />
  );
}
