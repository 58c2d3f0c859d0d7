import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { UNIT_TABLE } from "#kernel/units.ts";
import { toConditionWords } from "#kernel/price-variants.ts";
import {
  deleteSchedule,
  type HeldPrice,
  type PricesToCome,
  priceHistoryQuery,
  priceScheduleQuery,
} from "../../api/catalog.ts";
import { Button } from "../../components/button.tsx";
import { Badge } from "../../components/chip.tsx";
import { Cost } from "../../components/cost.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant, NOW_STEP_MS, useNow } from "../../components/instant.tsx";
import { TableSkeleton } from "../../components/skeleton.tsx";
import { ChangeQuestion, Section } from "../../lists/row-panel.tsx";
import { formatCount, formatCounted } from "../../text/format.ts";

/** The prices of a model as they held, hold and will hold, the newest first. */
export function PriceHistory({ model }: { readonly model: string }) {
  return (
    <>
      <ToCome model={model} />
      <Section title="Price history">
        <History model={model} />
      </Section>
    </>
  );
}

/** Writes of prices that have not taken force yet; each can be taken back alone. */
function ToCome({ model }: { readonly model: string }) {
  const { data } = useQuery(priceScheduleQuery(model));
  const [asked, setAsked] = useState<PricesToCome | null>(null);
  const rows = data?.schedule ?? [];
  if (rows.length === 0) return null;
  return (
    <Section title="Prices to come">
      <ul className="flex flex-col gap-2">
        {rows.map((row) => (
          <li
            key={row.id}
            className="flex flex-wrap items-center justify-between gap-2 border-b border-line pb-2"
          >
            <span className="min-w-0">
              <span className="block font-medium">
                <Instant value={row.effective_from} format="minute" />
              </span>
              <span className="block text-xs break-words text-ink-soft">{toPriceWords(row, model)}</span>
              {row.left_out !== undefined && (
                <span className="block text-xs text-warn">
                  {formatCounted(row.left_out, "price")} will be left out: the price variants are full. Remove
                  one before.
                </span>
              )}
            </span>
            <Button
              size="sm"
              aria-label={`Take back the prices from ${row.effective_from}`}
              onClick={() => setAsked(row)}
            >
              Take back
            </Button>
          </li>
        ))}
      </ul>
      {asked !== null && (
        <ChangeQuestion
          title="Take these prices to come back?"
          body={
            <p>
              What was to hold from <Instant value={asked.effective_from} format="minute" /> will not:{" "}
              {toPriceWords(asked, model)}. Prices that hold now stay, and so do all others to come.
            </p>
          }
          confirmLabel="Take back"
          change={deleteSchedule}
          wanted={String(asked.id)}
          done={() => ({ title: "The prices to come are taken back" })}
          onClose={() => setAsked(null)}
        />
      )}
    </Section>
  );
}

/** `Input tokens $1.25, Output tokens $10; 2 variants (feed 2027-01)`. */
function toPriceWords(
  { pricing, price_variants: variants, model, version }: PricesToCome,
  shown: string,
): string {
  const prices = Object.entries(pricing ?? {}).map(([unit, price]) => `${toLabel(unit)} $${String(price)}`);
  const parts = [
    ...(pricing === null ? [] : [prices.length === 0 ? "no prices" : prices.join(", ")]),
    ...(variants === null
      ? []
      : [
          variants.length === 0
            ? "no variants"
            : variants.map(({ when }) => toConditionWords(when)).join("; "),
        ]),
  ];
  const origin = [...(model === shown ? [] : [model]), ...(version === null ? [] : [`feed ${version}`])];
  return `${parts.join("; ")}${origin.length === 0 ? "" : ` (${origin.join(", ")})`}`;
}

function toLabel(unit: string): string {
  const known = Object.entries(UNIT_TABLE).find(([name]) => name === unit);
  return known === undefined ? unit : known[1].label;
}

const ROWS_A_PAGE = 8;

function History({ model }: { readonly model: string }) {
  const [offset, setOffset] = useState(0);
  const { data, error, isPlaceholderData, refetch } = useQuery(
    priceHistoryQuery(model, { limit: ROWS_A_PAGE, offset }),
  );
  if (error !== null) return <ErrorNotice compact failure={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <TableSkeleton rows={3} />;
  const { changes, total } = data;
  if (total === 0) return <p className="text-ink-soft">It has never had a price.</p>;
  return (
    <>
      <div
        role="region"
        aria-label="Prices by time"
        aria-busy={isPlaceholderData}
        tabIndex={0}
        className="overflow-x-auto"
      >
        <table className="w-full text-left text-xs">
          <caption className="sr-only">Prices per million as they held, the newest first</caption>
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
            {changes.map((change) => (
              <HistoryRow key={JSON.stringify([change.from, change.unit, change.when])} change={change} />
            ))}
          </tbody>
        </table>
      </div>
      {total > ROWS_A_PAGE && (
        <div className="mt-2 flex flex-wrap items-center justify-between gap-2 text-xs text-ink-soft">
          <span>
            {formatCount(offset + 1)} to {formatCount(offset + changes.length)} of {formatCount(total)}
          </span>
          <span className="flex gap-2">
            <Button
              size="sm"
              aria-disabled={offset === 0}
              onClick={() => setOffset(Math.max(0, offset - ROWS_A_PAGE))}
            >
              Newer
            </Button>
            <Button
              size="sm"
              aria-disabled={offset + ROWS_A_PAGE >= total}
              onClick={() => offset + ROWS_A_PAGE < total && setOffset(offset + ROWS_A_PAGE)}
            >
              Older
            </Button>
          </span>
        </div>
      )}
    </>
  );
}

const TEXT_CLASS = "py-1.5 pr-2 font-normal align-top";
const FIGURE_CLASS = "px-2 py-1.5 text-right font-normal align-top whitespace-nowrap";
const HEADINGS = [
  ["Held", TEXT_CLASS],
  ["Unit", TEXT_CLASS],
  ["Price", FIGURE_CLASS],
  ["Source", `${TEXT_CLASS} pl-2`],
] as const;

function HistoryRow({ change }: { readonly change: HeldPrice }) {
  const { unit, when, price, from, until, source, version } = change;
  // Its steps are of ten seconds: without one more, a price that was set just now would be one to come.
  const nowMs = useNow() + NOW_STEP_MS;
  const isToCome = Date.parse(from) > nowMs;
  return (
    <tr className="border-b border-line">
      <th scope="row" className={TEXT_CLASS}>
        <span className="flex flex-col gap-0.5">
          <span>
            from <Instant value={from} format="minute" />
          </span>
          {until !== null && (
            <span className="text-ink-soft">
              until <Instant value={until} format="minute" />
            </span>
          )}
          <span>
            {isToCome ? (
              <Badge tone="accent">to come</Badge>
            ) : (
              (until === null || Date.parse(until) > nowMs) && <Badge tone="good">holds</Badge>
            )}
          </span>
        </span>
      </th>
      <td className={TEXT_CLASS}>
        {UNIT_TABLE[unit].label}
        {when !== null && <span className="block text-ink-soft">{toConditionWords(when)}</span>}
      </td>
      <td className={FIGURE_CLASS}>
        <Cost value={price} />
      </td>
      <td className={`${TEXT_CLASS} pl-2 break-words`}>
        {SOURCES[source]}
        {version !== null && <span className="block text-ink-soft">{version}</span>}
      </td>
    </tr>
  );
}

const SOURCES: { readonly [source in HeldPrice["source"]]: string } = {
  model: "Model",
  feed: "Feed",
  import: "File",
  list: "List prices",
};
