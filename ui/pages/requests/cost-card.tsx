import { picoToNumber, toReportUnit, type Unit, UNIT_TABLE, UNITS } from "#kernel/units.ts";
import { toConditionWords } from "#kernel/price-variants.ts";
import { priceUsage } from "#usage/cost.ts";
import { toBilledUnits } from "#views/request-units.ts";
import type { CacheUse, RequestRow } from "../../api/reports.ts";
import { Absent } from "../../components/empty.tsx";
import { Cost, Unpriced } from "../../components/cost.tsx";
import { toSavingText } from "../../text/cache-saving.ts";
import { formatCount, formatInstant, formatMoneyExact, formatPercent } from "../../text/format.ts";

/** Units × price = cost, spelled out to the last digit that is kept. */
export function CostCard({ row }: { readonly row: RequestRow }) {
  const lines = readCost(row);
  return (
    <section aria-label="Cost">
      <h3 className="mb-1.5 flex items-baseline justify-between gap-3 font-semibold text-ink">
        Cost
        {lines.length > 0 && (
          <Cost value={row.cost} unpriced={isPartlyPriced(row)} reason={row.unpriced_reason} />
        )}
      </h3>
      {lines.length === 0 ? (
        <p className="text-ink-soft">{toNothingPriced(row)}</p>
      ) : (
        <>
          <Sum row={row} lines={lines} />
          <Notes row={row} lines={lines} />
        </>
      )}
      {row.cost_reported !== undefined && (
        <p className="mt-2 text-xs text-ink-soft">
          The provider says that it costs {formatMoneyExact(row.cost_reported)}.
        </p>
      )}
    </section>
  );
}

function toNothingPriced({ outcome, pending }: RequestRow): string {
  if (pending === true)
    return "The provider works on it in the background. What it used is told, and priced, when it is asked for by its id.";
  return outcome === "unreachable"
    ? "The request did not reach the provider, so there is nothing to price."
    : "The provider reported no usage, so there is nothing to price.";
}

interface LinesProps {
  readonly row: RequestRow;
  readonly lines: readonly CostLine[];
}

function Sum({ row, lines }: LinesProps) {
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
          {lines.map((line) => (
            <Line key={line.unit} line={line} reason={row.unpriced_reason} />
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

function Line({ line, reason }: { readonly line: CostLine; readonly reason: string | undefined }) {
  const { unit, quantity, pricePerMillion, amount } = line;
  return (
    <tr className="border-b border-line">
      <th scope="row" className="py-1.5 pr-2 font-normal">
        {UNIT_TABLE[unit].label}
      </th>
      <td className="px-2 py-1.5 text-right whitespace-nowrap">{formatCount(quantity)}</td>
      <td className="px-2 py-1.5 text-right whitespace-nowrap">
        {pricePerMillion === null ? <Unpriced reason={reason} /> : formatMoneyExact(pricePerMillion)}
      </td>
      <td className="py-1.5 pl-2 text-right whitespace-nowrap">
        {amount === null ? <Absent /> : formatMoneyExact(amount)}
      </td>
    </tr>
  );
}

/** What the figures do not say by themselves. */
function Notes({ row, lines }: LinesProps) {
  const reported = row.units.input_tokens ?? 0;
  const billed = lines.find(({ unit }) => unit === "input_tokens")?.quantity ?? reported;
  const notes = [
    billed < reported &&
      `The provider reported ${formatCount(reported)} input tokens, and ${formatCount(reported - billed)} of them read from its cache: those are priced as cached input, and not twice.`,
    row.cache !== undefined && toCacheNote(row.cache),
    isPartlyPriced(row) && "Units without a price are not in the sum: the cost is higher than it says.",
    row.cost === null &&
      row.unpriced_reason === undefined &&
      "No unit had a price when the request ended. That is not a cost of $0.",
    row.price_when !== undefined && toVariantNote(row, lines),
    row.unpriced_reason !== undefined &&
      `The provider answered ${toLackText(row)}, and no price of the model names that. That is not a cost of $0.`,
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

function toCacheNote(cache: CacheUse): string {
  const { read_share: share, write_cost: writeCost } = cache;
  const facts = [
    share !== null && share > 0 && `${formatPercent(share)} of the input was read from the provider’s cache.`,
    writeCost !== null && writeCost > 0 && `Writing to it cost ${formatMoneyExact(writeCost)}.`,
    toSavingText(cache),
  ];
  return facts.filter((fact) => fact !== false).join(" ");
}

function toLackText({ unpriced_reason: reason, tier, geo }: RequestRow): string {
  return reason?.startsWith("geo:") === true ? `from the region ${geo}` : `at the service tier ${tier}`;
}

/** Which variant priced it, and what it goes by. */
function toVariantNote(
  { price_when: when = {}, ts, duration_ms: durationMs }: RequestRow,
  lines: readonly CostLine[],
): string {
  const facts = [
    when.tier !== undefined && `the answer told the service tier ${when.tier}`,
    when.geo !== undefined && `the answer told the region ${when.geo}`,
    when.input_over !== undefined &&
      `the whole input was ${formatCount(toWholeInput(lines))} tokens, cached and written ones included`,
    when.hours !== undefined &&
      `the request ended at ${formatInstant(new Date(Date.parse(ts) + durationMs).toISOString(), "minute")}`,
  ].filter((fact) => fact !== false);
  return `Priced by the variant for ${toConditionWords(when)}: ${facts.join("; ")}.`;
}

/** As conditions compare it: each part of the input once. */
function toWholeInput(lines: readonly CostLine[]): number {
  return lines
    .filter(({ unit }) => unit === "cached_input_tokens" || toReportUnit(unit) === "input_tokens")
    .reduce((sum, { quantity }) => sum + quantity, 0);
}

type Metered = Pick<RequestRow, "units" | "unit_prices" | "unit_details" | "cost">;

/** One product of the sum that makes a cost. */
export interface CostLine {
  readonly unit: Unit;
  readonly quantity: number;
  /** Null: the unit has no price, and no part in the sum. */
  readonly pricePerMillion: number | null;
  /** In the currency unit, nearest to the exact product; null without a price. */
  readonly amount: number | null;
}

/** How a row's cost comes out of its quantities and prices: the amounts add up to it. */
export function readCost(row: Metered): readonly CostLine[] {
  const billed = toBilledUnits(row);
  return UNITS.flatMap((unit) => {
    const line = billed[unit];
    if (line === undefined) return [];
    const { quantity, price: pricePerMillion } = line;
    return [{ unit, quantity, pricePerMillion, amount: toAmount(unit, quantity, pricePerMillion) }];
  });
}

/** Whether something of it has no price beside what has one: the cost is then too low. */
export function isPartlyPriced(row: Metered): boolean {
  const isUnpriced = ({ quantity, pricePerMillion }: CostLine) => quantity > 0 && pricePerMillion === null;
  return row.cost !== null && readCost(row).some(isUnpriced);
}

const PICO_PER_MILLIONTH = 1e6;

/** As the server prices it: a price in JSON is per million, and in pico per unit it is whole. */
function toAmount(unit: Unit, quantity: number, pricePerMillion: number | null): number | null {
  if (pricePerMillion === null) return null;
  const prices = { [unit]: Math.round(pricePerMillion * PICO_PER_MILLIONTH) };
  const { costPico } = priceUsage({ shape: "exclusive", quantities: { [unit]: quantity } }, prices);
  return costPico === null ? null : picoToNumber(costPico);
}
