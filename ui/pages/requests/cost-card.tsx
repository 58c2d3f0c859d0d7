import type { RequestRow } from "../../api/reports.ts";
import { Absent } from "../../components/absent.tsx";
import { Money, Unpriced } from "../../components/money.tsx";
import { UNIT_LABEL } from "../../components/units.tsx";
import { formatCount, formatMoneyExact } from "../../text/format.ts";
import { isPartlyPriced, readCost, type CostLine, type CostReading } from "./cost-reading.ts";

/** Units × price = cost, spelled out to the last digit that is kept. */
export function CostCard({ row }: { readonly row: RequestRow }) {
  const reading = readCost(row);
  return (
    <section aria-label="Cost">
      <h3 className="mb-1.5 flex items-baseline justify-between gap-3 font-semibold text-ink">
        Cost
        {reading.lines.length > 0 && <Money value={row.cost} isPartial={isPartlyPriced(row)} />}
      </h3>
      {reading.lines.length === 0 ? (
        <p className="text-ink-soft">The provider reported no usage, so there is nothing to price.</p>
      ) : (
        <>
          <Sum row={row} reading={reading} />
          <Notes row={row} reading={reading} />
        </>
      )}
    </section>
  );
}

interface ReadingProps {
  readonly row: RequestRow;
  readonly reading: CostReading;
}

function Sum({ row, reading }: ReadingProps) {
  return (
    <div role="region" aria-label="Units and prices" tabIndex={0} className="overflow-x-auto">
      <table className="w-full text-left max-sm:text-xs">
        <thead className="text-xs text-ink-soft">
          <tr className="border-b border-line">
            <th scope="col" className="py-1.5 pr-2 font-medium">
              Unit
            </th>
            <th scope="col" className="px-2 py-1.5 text-right font-medium whitespace-nowrap">
              Quantity
            </th>
            <th scope="col" className="px-2 py-1.5 text-right font-medium whitespace-nowrap">
              × per million
            </th>
            <th scope="col" className="py-1.5 pl-2 text-right font-medium whitespace-nowrap">
              = Amount
            </th>
          </tr>
        </thead>
        <tbody>
          {reading.lines.map((line) => (
            <Line key={line.unit} line={line} />
          ))}
        </tbody>
        {row.cost !== null && (
          <tfoot>
            <tr className="font-medium">
              <th scope="row" colSpan={3} className="py-1.5 pr-2 font-medium">
                Sum, as recorded when the request ended
              </th>
              <td className="py-1.5 pl-2 text-right whitespace-nowrap">{formatMoneyExact(row.cost)}</td>
            </tr>
          </tfoot>
        )}
      </table>
    </div>
  );
}

function Line({ line }: { readonly line: CostLine }) {
  const { unit, quantity, pricePerMillion, amount } = line;
  return (
    <tr className="border-b border-line">
      <th scope="row" className="py-1.5 pr-2 font-normal">
        {unit === "cache_writes" ? "Input tokens written to a cache" : UNIT_LABEL[unit]}
      </th>
      <td className="px-2 py-1.5 text-right whitespace-nowrap">{formatCount(quantity)}</td>
      <td className="px-2 py-1.5 text-right whitespace-nowrap">
        {pricePerMillion === null ? <Unpriced /> : formatMoneyExact(pricePerMillion)}
      </td>
      <td className="py-1.5 pl-2 text-right whitespace-nowrap">
        {amount === null ? <Absent /> : formatMoneyExact(amount)}
      </td>
    </tr>
  );
}

/** What the figures do not say by themselves. */
function Notes({ row, reading }: ReadingProps) {
  const { lines, cachedWithinInput, isExact } = reading;
  const notes = [
    cachedWithinInput > 0 &&
      `The provider reported ${formatCount(row.units.input_tokens ?? 0)} input tokens, and ${formatCount(cachedWithinInput)} of them read from its cache: those are priced as cached input, and not twice.`,
    lines.some(({ unit }) => unit === "cache_writes") &&
      "What was written to a cache is priced as input; it is not among the units, and follows from the cost.",
    isPartlyPriced(row) && "Units without a price are not in the sum: the cost is higher than it says.",
    row.cost === null && "No unit had a price when the request ended. That is not a cost of $0.",
    !isExact && "How the cost comes out of these units is not told by this record.",
  ].filter((note) => note !== false);
  if (notes.length === 0) return null;
  return (
    <ul className="mt-2 flex flex-col gap-1 text-xs text-ink-soft">
      {notes.map((note) => (
        <li key={note}>{note}</li>
      ))}
    </ul>
  );
}
