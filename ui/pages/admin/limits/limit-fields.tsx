import { useQuery } from "@tanstack/react-query";
import type { LimitMeasure, LimitWindow } from "#limits/limit.ts";
import { NAME_LENGTH_MAX, UPSTREAM_NAME_LENGTH_MAX } from "#kernel/text.ts";
import { listedModelsQuery } from "../../../api/models.ts";
import { principalsQuery } from "../../../api/people.ts";
import { ComboField, type ComboOption } from "../../../components/combo-field.tsx";
import { toFieldError } from "../../../components/field-frame.tsx";
import { NumberField } from "../../../components/number-field.tsx";
import { SelectField } from "../../../components/select-field.tsx";
import { TextField } from "../../../components/text-field.tsx";
import type { SecretNames } from "../../../limits/secret-names.ts";
import type { EachKind, LimitForm, SubjectKind } from "./limit-form.ts";

export interface LimitFieldsProps {
  readonly form: LimitForm;
  readonly onChange: (change: Partial<LimitForm>) => void;
  /** The error of the last try to save. */
  readonly failure: Error | null;
}

export interface ScopeFieldsProps extends LimitFieldsProps {
  readonly names: SecretNames;
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
  { value: "together", label: "Together", detail: "All of them share one amount" },
  { value: "principal", label: "For each person", detail: "Everyone has an amount of their own" },
  { value: "key", label: "For each key", detail: "Every key has an amount of its own" },
  {
    value: "tag",
    label: "For each value of a tag",
    detail: "Every team, every app has an amount of its own",
  },
] as const satisfies readonly { readonly value: EachKind; readonly label: string; readonly detail: string }[];

/** Whom a limit holds for and what it counts, which is what it is: neither can be changed later. */
export function ScopeFields(props: ScopeFieldsProps) {
  const { form, onChange, failure } = props;
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Holds for"
          options={WHO}
          value={form.who}
          onValueChange={(who) => onChange({ who })}
        />
        <SelectField
          label="Counted"
          options={EACH}
          value={form.each}
          error={form.each === "tag" ? undefined : toFieldError(failure, "each")}
          onValueChange={(each) => onChange({ each })}
        />
      </div>
      <SubjectField {...props} />
      {form.each === "tag" && (
        <TextField
          label="Tag to tell apart"
          required
          mono
          placeholder="team"
          hint="What stands before the colon of the tag"
          value={form.tagKey}
          error={toFieldError(failure, "each")}
          onValueChange={(tagKey) => onChange({ tagKey })}
        />
      )}
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="Models"
          options={[
            { value: "any", label: "Any model" },
            { value: "one", label: "One model", detail: "By the name that callers use" },
          ]}
          value={form.hasModel ? "one" : "any"}
          onValueChange={(kind) => onChange({ hasModel: kind === "one" })}
        />
        <SelectField
          label="Measure"
          options={MEASURES}
          value={form.measure}
          error={toFieldError(failure, "measure")}
          onValueChange={(measure) => onChange({ measure })}
        />
      </div>
      {form.hasModel && <ModelField {...props} />}
    </>
  );
}

function SubjectField({ form, onChange, failure, names }: ScopeFieldsProps) {
  const error = toSubjectError(failure);
  switch (form.who) {
    case "principal":
      return <PrincipalField form={form} onChange={onChange} failure={failure} />;
    case "key":
      return (
        <ComboField
          label="Key"
          required
          hint="Find it by its owner, its label or its last characters"
          options={toOptions(names.keys.keys())}
          noneText="No such key"
          value={form.key}
          error={error}
          onValueChange={(key) => onChange({ key })}
        />
      );
    case "relay_token":
      return (
        <ComboField
          label="Relay token"
          required
          hint="Find it by its owner, its label or its last characters"
          options={toOptions(names.relayTokens.keys())}
          noneText="No such relay token"
          value={form.relayToken}
          error={error}
          onValueChange={(relayToken) => onChange({ relayToken })}
        />
      );
    case "tag":
      return (
        <TextField
          label="Tag"
          required
          mono
          placeholder="team:search"
          hint="Callers send it in x-proxy-tags: a key, a colon and a value"
          value={form.tag}
          error={error}
          onValueChange={(tag) => onChange({ tag })}
        />
      );
    default:
      return null;
  }
}

function PrincipalField({ form, onChange, failure }: LimitFieldsProps) {
  const principals = useQuery(principalsQuery());
  return (
    <ComboField
      label="Person or service"
      required
      options={toOptions((principals.data?.rows ?? []).map(({ name }) => name))}
      noneText="No such person or service"
      value={form.principal}
      error={toSubjectError(failure)}
      onValueChange={(principal) => onChange({ principal })}
    />
  );
}

function ModelField({ form, onChange, failure }: LimitFieldsProps) {
  const models = useQuery(listedModelsQuery({ includeHidden: true }));
  return (
    <ComboField
      label="Model"
      required
      mono
      hint="A renamed model keeps its limits"
      options={toOptions((models.data ?? []).map(({ id }) => id))}
      noneText="No such model yet"
      value={form.model}
      error={toFieldError(failure, "subject.model")}
      onValueChange={(model) => onChange({ model: model.slice(0, UPSTREAM_NAME_LENGTH_MAX) })}
    />
  );
}

function toOptions(values: Iterable<string>): readonly ComboOption[] {
  return [...values].map((value) => ({ value }));
}

/** What a refusal says of whom it holds for, but of the model, which has a field of its own. */
function toSubjectError(failure: Error | null): string | undefined {
  return toFieldError(failure, "subject.model") === undefined ? toFieldError(failure, "subject") : undefined;
}

const MEASURES = [
  { value: "cost", label: "Cost", detail: "In the currency of the prices" },
  { value: "requests", label: "Requests" },
  { value: "tokens", label: "Tokens", detail: "Input and output together" },
  { value: "concurrent", label: "Requests at once", detail: "Under way at the same time" },
] as const satisfies readonly {
  readonly value: LimitMeasure;
  readonly label: string;
  readonly detail?: string;
}[];

const WINDOWS = [
  { value: "minute", label: "Minute", detail: "The last 60 seconds, at any time" },
  { value: "hour", label: "Hour", detail: "The last 60 minutes, at any time" },
  { value: "day", label: "Day", detail: "Starts anew at midnight UTC" },
  { value: "week", label: "Week", detail: "Starts anew on Monday, 00:00 UTC" },
  { value: "month", label: "Month", detail: "Starts anew on the first, 00:00 UTC" },
  { value: "total", label: "Total", detail: "Never starts anew" },
] as const satisfies readonly {
  readonly value: LimitWindow;
  readonly label: string;
  readonly detail: string;
}[];

/** How much, in which time, and what happens then. */
export function AmountFields({ form, onChange, failure }: LimitFieldsProps) {
  const isCost = form.measure === "cost";
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <NumberField
          label="Amount"
          required
          integer={!isCost}
          min={isCost ? undefined : 1}
          prefix={isCost ? "$" : undefined}
          suffix={isCost ? undefined : form.measure === "tokens" ? "tokens" : "requests"}
          value={form.amount}
          error={toFieldError(failure, "amount")}
          onValueChange={(amount) => onChange({ amount })}
        />
        {form.measure !== "concurrent" && (
          <SelectField
            label="Window"
            options={WINDOWS}
            value={form.window}
            error={toFieldError(failure, "window")}
            onValueChange={(window) => onChange({ window })}
          />
        )}
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="When it is used up"
          options={[
            { value: "refuse", label: "Refuse requests", detail: "429 limit_exceeded, until it starts anew" },
            { value: "warn", label: "Warn", detail: "Requests pass, with x-proxy-limit-warning" },
          ]}
          value={form.action}
          error={toFieldError(failure, "action")}
          onValueChange={(action) => onChange({ action })}
        />
        {isCost && (
          <SelectField
            label="Models without a price"
            options={[
              {
                value: "allow",
                label: "Allow",
                detail: "Their cost is unknown, and counted apart as unpriced",
              },
              { value: "refuse", label: "Refuse", detail: "Until an admin has set the price" },
            ]}
            value={form.unpriced}
            error={toFieldError(failure, "unpriced")}
            onValueChange={(unpriced) => onChange({ unpriced })}
          />
        )}
      </div>
    </>
  );
}

/** The name, which stands in refusals. `suggested`: what it is called unless another name is typed. */
export function NameField({
  form,
  onChange,
  failure,
  suggested,
}: LimitFieldsProps & { readonly suggested: string }) {
  return (
    <TextField
      label="Name"
      required
      lengthMax={NAME_LENGTH_MAX}
      hint="Callers read it in refusals"
      value={form.name ?? suggested}
      error={toFieldError(failure, "name")}
      onValueChange={(name) => onChange({ name })}
    />
  );
}
