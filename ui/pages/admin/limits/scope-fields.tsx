import type { LimitMeasure } from "#limits/limit.ts";
import { SwitchField } from "../../../components/choice-field.tsx";
import { SelectField } from "../../../components/select-field.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { isByTag, type EachKind, type SubjectKind } from "./limit-form.ts";
import { LimitedModelField, SubjectField, type SubjectFieldProps } from "./subject-field.tsx";

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

/** Whom a limit holds for and what it counts, which is what it is: neither can be changed later. */
export function ScopeFields(props: SubjectFieldProps) {
  const { form } = props;
  const { each, hasModel } = form.values;
  return (
    <>
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField label="Holds for" {...form.field("who")} options={WHO} />
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
          label="Tag to tell apart"
          {...form.field("tagKey", "each")}
          required
          mono
          placeholder="team"
          hint="What stands before the colon of the tag"
        />
      )}
      {isByTag(form.values) && (
        <SwitchField
          label="Only fixed tags"
          hint="Counts tags that an admin has set on people and keys. Off, it believes what callers say of themselves."
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
        <SelectField label="Measure" {...form.field("measure")} options={MEASURES} />
      </div>
      {hasModel && <LimitedModelField form={form} />}
    </>
  );
}
