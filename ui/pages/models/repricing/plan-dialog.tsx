import { useQuery, useQueryClient } from "@tanstack/react-query";
import { MODELS, pricingQuery } from "../../../api/catalog.ts";
import { isUnderWay, REPRICINGS, repricingsQuery } from "../../../api/repricing.ts";
import { ModelsField } from "../../../catalog/models-field.tsx";
import { Button } from "../../../components/button.tsx";
import { CheckboxField } from "../../../components/choice-field.tsx";
import { Segmented } from "../../../components/segmented.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { FormDialog } from "../../../form/form.tsx";
import { useForm } from "../../../form/use-form.ts";
import type { RepricingSearch } from "../../../search/pages.ts";
import { RANGE_LABELS, toRangeBounds } from "../../../search/ranges.ts";
import { toIso } from "../../../search/window.ts";
import { findPlanFaults, toPlanForm, toRepricingDraft } from "./plan-form.ts";
import { RepricingProgress } from "./repricing-progress.tsx";

interface PlanDialogProps {
  /** What it begins with. */
  readonly asked: RepricingSearch;
  readonly onClose: () => void;
  readonly onPlanned: (id: string) => void;
}

/** Which requests are priced again, and at what: the plan that is made of it changes nothing. */
export function PlanDialog({ asked, onClose, onPlanned }: PlanDialogProps) {
  const client = useQueryClient();
  const { data: listed } = useQuery(repricingsQuery());
  const running = listed?.rows.find(isUnderWay);
  const form = useForm({
    name: "plan-repricing",
    begin: toPlanForm(asked),
    check: findPlanFaults,
    change: {
      ...REPRICINGS.create,
      mutationFn: async (values: ReturnType<typeof toPlanForm>) => {
        // The prices of this moment, not those that the page showed.
        const [models, pricing] = await Promise.all([
          client.fetchQuery({ ...MODELS.list(), staleTime: 0 }),
          client.fetchQuery({ ...pricingQuery(), staleTime: 0 }),
        ]);
        return REPRICINGS.create.mutationFn(toRepricingDraft(values, { models: models.rows, pricing }));
      },
    },
    toAsked: (values) => values,
    onSaved: ({ id }) => onPlanned(id),
  });
  const { values } = form;
  const isPast = values.at === "history";
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title="Re-price"
      description="Prices recorded requests again. A plan shows what would change; nothing changes until you apply it."
      submit="Make the plan"
      underWay="Beginning…"
    >
      {running !== undefined && (
        <div className="flex flex-col gap-2 rounded-card bg-warn-soft p-3">
          <p>Another re-pricing is under way. A plan can be made as soon as it is done.</p>
          <RepricingProgress repricing={running} />
        </div>
      )}
      <ModelsField
        chosen={values.models}
        typed={values.typedModel}
        onChange={form.set}
        error={form.findError("models")}
        hint={
          isPast
            ? "By the names that requests asked for. Empty: every model."
            : "By the names that requests asked for."
        }
        toMissingNote={() => "Requests for such names are priced at the prices that are kept for them."}
        required={!isPast}
      />
      <div className="flex flex-col gap-1.5">
        <span className="text-xs font-medium" aria-hidden>
          Prices
        </span>
        <div className="self-start">
          <Segmented
            label="Prices"
            options={PRICES}
            value={values.at}
            onValueChange={(at) => form.set({ at })}
          />
        </div>
        <p className="text-xs text-ink-faint">
          {isPast
            ? "Each request at the prices that were in force when it ended, as the price history has them."
            : "Every request at the prices that its model has now."}
        </p>
      </div>
      <div className="flex flex-col gap-1.5">
        <div className="grid gap-4 sm:grid-cols-2">
          <TextField
            label="Since (UTC)"
            placeholder="the beginning"
            hint="A date, or date and time"
            {...form.field("since")}
          />
          <TextField
            label="Until (UTC)"
            placeholder="now"
            hint="The first moment that is left out"
            {...form.field("until")}
          />
        </div>
        <div className="flex flex-wrap gap-1.5">
          {PRESETS.map((range) => (
            <Button key={range} size="sm" onClick={() => form.set(toFields(range))}>
              {RANGE_LABELS[range]}
            </Button>
          ))}
        </div>
      </div>
      <CheckboxField
        label="Only requests without a price for something"
        hint="Requests whose every unit had a price keep their costs."
        checked={values.isUnpricedOnly}
        onCheckedChange={(isUnpricedOnly) => form.set({ isUnpricedOnly })}
      />
    </FormDialog>
  );
}

const PRICES = [
  { value: "today", label: "Of today" },
  { value: "history", label: "As they held" },
] as const;
const PRESETS = ["7d", "30d", "this-month", "last-month"] as const;

function toFields(range: (typeof PRESETS)[number]) {
  const bounds = toRangeBounds(range, Date.now());
  const toDay = (ms: number | null | undefined) => (typeof ms === "number" ? toIso(ms).slice(0, 10) : "");
  return { since: toDay(bounds?.sinceMs), until: toDay(bounds?.untilMs) };
}
