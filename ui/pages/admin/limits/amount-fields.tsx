import type { LimitWindow } from "#limits/limit.ts";
import { NumberField } from "../../../components/number-field.tsx";
import { SelectField } from "../../../components/select-field.tsx";
import { TextField } from "../../../components/text-field.tsx";
import type { Form } from "../../../form/use-form.ts";
import type { LimitForm } from "./limit-form.ts";

export interface AmountFieldsProps {
  readonly form: Form<LimitForm>;
}

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
export function AmountFields({ form }: AmountFieldsProps) {
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
          suffix={isCost ? undefined : measure === "tokens" ? "tokens" : "requests"}
        />
        {measure !== "concurrent" && (
          <SelectField label="Window" {...form.field("window")} options={WINDOWS} />
        )}
      </div>
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="When it is used up"
          {...form.field("action")}
          options={[
            { value: "refuse", label: "Refuse requests", detail: "429 limit_exceeded, until it starts anew" },
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
                detail: "Their cost is unknown, and counted apart as unpriced",
              },
              { value: "refuse", label: "Refuse", detail: "Until an admin has set the price" },
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
          hint="Refuses after so many requests in the window ended before their usage was told, such as streams left early"
        />
      )}
    </>
  );
}

/** The name, which stands in refusals. `suggested`: what it is called unless another name is typed. */
export function NameField({ form, suggested }: AmountFieldsProps & { readonly suggested: string }) {
  const { value, ...field } = form.field("name");
  return (
    <TextField
      label="Name"
      {...field}
      value={value ?? suggested}
      required
      hint="Callers read it in refusals"
    />
  );
}
