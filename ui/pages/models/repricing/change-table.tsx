import { UNIT_TABLE } from "#kernel/units.ts";
import type { Repricing, RepricingChange } from "../../../api/repricing.ts";
import { classNames } from "../../../components/class-names.ts";
import { Cost } from "../../../components/cost.tsx";
import { formatCount, formatCounted } from "../../../text/format.ts";

interface ChangeTableProps {
  readonly changes: Repricing["changes"];
  readonly total: NonNullable<Repricing["total"]>;
}

/** Rows that are drawn; the sums are of all. */
const ROWS_SHOWN_MAX = 500;

/** What a re-pricing changes, by model, tier and unit: in money, and in requests without a price. */
export function ChangeTable({ changes, total }: ChangeTableProps) {
  const shown = changes.slice(0, ROWS_SHOWN_MAX);
  const groups = Map.groupBy(shown, ({ model, tier = "" }) => JSON.stringify([model, tier]));
  return (
    <>
      <div role="region" aria-label="Changes" tabIndex={0} className="max-h-[55vh] overflow-auto">
        <table className="w-full text-left text-xs">
          <caption className="sr-only">What changes, by model, tier and unit</caption>
          <thead className="text-ink-soft">
            <tr className="border-b border-line">
              {HEADINGS.map(([heading, className]) => (
                <th key={heading} scope="col" className={className}>
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          {[...groups].map(([id, rows]) => (
            <ChangeGroup key={id} rows={rows} />
          ))}
          <tfoot>
            <tr className="font-medium text-ink">
              <th scope="row" className={NAME_CLASS}>
                Sum
              </th>
              <td className={QUANTITY_CLASS} />
              <td className={QUANTITY_CLASS}>{formatCount(total.requests)}</td>
              <td className={FIGURE_CLASS}>
                <CostOf requests={total.requests} cost={total.cost_before} unpriced={total.unpriced_before} />
              </td>
              <td className={FIGURE_CLASS}>
                <CostOf requests={total.requests} cost={total.cost_after} unpriced={total.unpriced_after} />
              </td>
              <td className={FIGURE_CLASS}>
                <Difference value={total.difference} />
              </td>
              <td className={FIGURE_CLASS}>
                <UnpricedChange before={total.unpriced_before} after={total.unpriced_after} />
              </td>
            </tr>
          </tfoot>
        </table>
      </div>
      {changes.length > shown.length && (
        <p className="mt-2 text-xs text-ink-soft">
          The first {formatCount(shown.length)} of {formatCount(changes.length)} lines. The sum is of all.
        </p>
      )}
      <p className="mt-2 text-xs text-ink-soft">
        Requests are counted in each of their units; the sum counts each once. Quantities stay as they are.
      </p>
    </>
  );
}

function ChangeGroup({ rows }: { readonly rows: readonly RepricingChange[] }) {
  const [first] = rows;
  if (first === undefined) return null;
  const { model, tier } = first;
  return (
    <tbody>
      <tr className="bg-sunken">
        <th scope="rowgroup" colSpan={HEADINGS.length} className="px-2 py-1.5 font-medium break-all text-ink">
          {model}
          {tier !== undefined && <span className="font-normal text-ink-soft"> · tier {tier}</span>}
        </th>
      </tr>
      {rows.map((row) => (
        <tr key={row.unit} className="border-b border-line">
          <th scope="row" className={NAME_CLASS}>
            {UNIT_TABLE[row.unit].label}
          </th>
          <td className={QUANTITY_CLASS}>{formatCount(row.quantity)}</td>
          <td className={QUANTITY_CLASS}>{formatCount(row.requests)}</td>
          <td className={FIGURE_CLASS}>
            <CostOf requests={row.requests} cost={row.cost_before} unpriced={row.unpriced_before} />
          </td>
          <td className={FIGURE_CLASS}>
            <CostOf requests={row.requests} cost={row.cost_after} unpriced={row.unpriced_after} />
          </td>
          <td className={FIGURE_CLASS}>
            <Difference value={row.cost_after - row.cost_before} />
          </td>
          <td className={FIGURE_CLASS}>
            <UnpricedChange before={row.unpriced_before} after={row.unpriced_after} />
          </td>
        </tr>
      ))}
    </tbody>
  );
}

const NAME_CLASS = "min-w-20 px-2 py-1.5 font-normal break-normal";
const FIGURE_CLASS = "px-2 py-1.5 text-right font-normal whitespace-nowrap max-sm:px-1";
/** A phone has no room for quantities and counts. */
const QUANTITY_CLASS = classNames(FIGURE_CLASS, "max-sm:hidden");
const HEADINGS = [
  ["Unit", NAME_CLASS],
  ["Quantity", QUANTITY_CLASS],
  ["Requests", QUANTITY_CLASS],
  ["Before", FIGURE_CLASS],
  ["After", FIGURE_CLASS],
  ["Difference", FIGURE_CLASS],
  ["Unpriced", FIGURE_CLASS],
] as const;

interface CostOfProps {
  readonly requests: number;
  readonly cost: number;
  readonly unpriced: number;
}

function CostOf({ requests, cost, unpriced }: CostOfProps) {
  return <Cost value={toKnownCost({ requests, cost, unpriced })} unpriced={unpriced > 0} />;
}

/** Null where nothing of any request had a price, which is not a cost of $0. */
export function toKnownCost({ requests, cost, unpriced }: CostOfProps): number | null {
  return cost === 0 && unpriced > 0 && unpriced >= requests ? null : cost;
}

export function Difference({ value }: { readonly value: number }) {
  return (
    <span className={value < 0 ? "text-good" : value > 0 ? "text-bad" : undefined}>
      <Cost value={value} />
    </span>
  );
}

/** Requests without a price, before and after. */
export function UnpricedChange({ before, after }: { readonly before: number; readonly after: number }) {
  if (before === after) return formatCount(before);
  return (
    <span title={`${formatCounted(before, "request")} before, ${formatCount(after)} after`}>
      {formatCount(before)} → {formatCount(after)}
    </span>
  );
}
