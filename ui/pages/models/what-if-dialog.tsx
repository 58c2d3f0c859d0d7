import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { UNIT_TABLE } from "#kernel/units.ts";
import { listedModelsQuery } from "../../api/models.ts";
import { type WhatIf, whatIfQuery } from "../../api/reports.ts";
import { ComboField } from "../../components/combo-field.tsx";
import { Cost, Unpriced } from "../../components/cost.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { Absent } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { TableSkeleton } from "../../components/skeleton.tsx";
import { useMinute } from "../../search/now.ts";
import { toTimeWindow } from "../../search/window.ts";
import { formatCount, formatCounted } from "../../text/format.ts";

interface WhatIfDialogProps {
  readonly model: string;
  readonly onClose: () => void;
}

/** What the usage of a model would have cost at the prices of another one. */
export function WhatIfDialog({ model, onClose }: WhatIfDialogProps): ReactNode {
  const [other, setOther] = useState("");
  const { data: models = [] } = useQuery(listedModelsQuery());
  const { since } = toTimeWindow({}, "30d", useMinute());
  const isKnown = models.some(({ id }) => id === other);
  const asked = useQuery({ ...whatIfQuery({ from: model, to: other, since }), enabled: isKnown });
  const options = models
    .filter(({ id }) => id !== model)
    .map(({ id, owned_by: provider }) => ({ value: id, detail: provider }));
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`What if ${model} were another model?`}
      description="What was used of it in 30 days, at today’s prices of the other one: same tokens, other prices, and no forecast of how it would answer."
      size="lg"
    >
      <ComboField
        label="Other model"
        options={options}
        value={other}
        onValueChange={setOther}
        noneText="No model has this name"
        mono
      />
      <div className="mt-4 min-h-40">
        {isKnown &&
          (asked.error !== null ? (
            <ErrorNotice compact failure={asked.error} onRetry={() => void asked.refetch()} />
          ) : asked.data === undefined || asked.isPlaceholderData ? (
            <TableSkeleton rows={4} />
          ) : (
            <Comparison answer={asked.data} model={model} other={other} />
          ))}
      </div>
    </Dialog>
  );
}

interface ComparisonProps {
  readonly answer: WhatIf;
  readonly model: string;
  readonly other: string;
}

function Comparison({ answer, model, other }: ComparisonProps) {
  const { units, total } = answer;
  if (total.requests === 0) return <p className="text-ink-soft">Nothing was used of {model} in 30 days.</p>;
  return (
    <>
      <div role="region" aria-label="Costs by unit" tabIndex={0} className="overflow-x-auto">
        <table className="w-full text-left text-xs">
          <caption className="sr-only">
            Costs of {model}, and at the prices of {other}
          </caption>
          <thead className="text-ink-soft">
            <tr className="border-b border-line">
              {HEADINGS.map(([heading, className]) => (
                <th key={heading} scope="col" className={className}>
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {units.map((row) => (
              <tr key={`${row.unit} ${row.tier} ${row.geo}`} className="border-b border-line">
                <th scope="row" className={NAME_CLASS}>
                  {UNIT_TABLE[row.unit].label}
                  <span className="text-ink-soft">
                    {[row.tier, row.geo].map((condition) =>
                      condition === undefined ? "" : ` · ${condition}`,
                    )}
                  </span>
                </th>
                <td className={QUANTITY_CLASS}>{formatCount(row.quantity)}</td>
                <td className={FIGURE_CLASS}>
                  <Cost value={row.cost} used={answer.unit_costs === "exact" && row.quantity > 0} />
                </td>
                <td className={FIGURE_CLASS}>
                  {row.unpriced_reason === undefined ? (
                    <Cost value={row.other_cost} used={row.quantity > 0} />
                  ) : (
                    <Unpriced reason={row.unpriced_reason} />
                  )}
                </td>
                <td className={FIGURE_CLASS}>
                  <Difference value={row.difference} />
                </td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr className="font-medium text-ink">
              <th scope="row" className={NAME_CLASS}>
                {formatCounted(total.requests, "request")}
              </th>
              <td className="max-sm:hidden" />
              <td className={FIGURE_CLASS}>
                <Cost value={total.cost} unpriced={total.unpriced_requests > 0} />
              </td>
              <td className={FIGURE_CLASS}>
                <Cost
                  value={total.other_cost}
                  unpriced={units.some(({ unpriced_reason: reason }) => reason !== undefined)}
                />
              </td>
              <td className={FIGURE_CLASS}>
                <Difference value={total.difference} />
              </td>
            </tr>
          </tfoot>
        </table>
      </div>
      <Notes answer={answer} other={other} />
    </>
  );
}

const NAME_CLASS = "min-w-20 py-1.5 pr-2 font-normal break-normal";
const FIGURE_CLASS = "px-2 py-1.5 text-right font-normal whitespace-nowrap max-sm:px-1";
/** A phone has no room for it. */
const QUANTITY_CLASS = `${FIGURE_CLASS} max-sm:hidden`;
const HEADINGS = [
  ["Unit", NAME_CLASS],
  ["Quantity", QUANTITY_CLASS],
  ["Cost", FIGURE_CLASS],
  ["At the other’s", FIGURE_CLASS],
  ["Difference", FIGURE_CLASS],
] as const;

function Difference({ value }: { readonly value: number | null }) {
  if (value === null) return <Absent />;
  return (
    <span className={value < 0 ? "text-good" : value > 0 ? "text-bad" : undefined}>
      <Cost value={value} />
    </span>
  );
}

/** What the figures leave out. */
function Notes({ answer, other }: Pick<ComparisonProps, "answer" | "other">) {
  const { models, total, units, unit_costs: unitCosts } = answer;
  const notes = [
    units.some(({ unpriced_reason: reason }) => reason !== undefined) &&
      `${other} has no price for some of it, which is not a cost of $0: there is no difference in sum.`,
    total.unpriced_requests > 0 &&
      `${formatCounted(total.unpriced_requests, "request")} had units without a price when recorded: there is no difference.`,
    models.some((model) => model.cache_writes_as_input) &&
      `Cache writes, audio and images have prices of their own at ${other}, and are counted as input and output here.`,
    models.some((model) => model.conditions_left_out !== undefined) &&
      `Prices of ${other} that depend on a request’s length or hour are not applied.`,
    unitCosts !== "exact" && NOT_TOLD[unitCosts],
  ].filter((note) => note !== false);
  return (
    <ul className="mt-2 flex flex-col gap-1 text-xs text-ink-soft">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}

const NOT_TOLD = {
  too_many_requests: "What each unit cost is told of at most 200,000 requests.",
  rows_removed: "What each unit cost is not told: single requests of this window are no longer kept.",
} as const;
