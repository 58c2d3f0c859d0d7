import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { COST_TERMS } from "#stats/cost-change.ts";
import { type CostChange, costChangeQuery } from "../api/reports.ts";
import { classNames } from "../components/class-names.ts";
import { Cost } from "../components/cost.tsx";
import { Dialog } from "../components/dialog.tsx";
import { Segmented } from "../components/segmented.tsx";
import { TableSkeleton } from "../components/skeleton.tsx";
import { RANGE_LABELS, type Range } from "../search/ranges.ts";
import type { Report } from "../search/report.ts";
import { formatPeriod, formatWindow, toTimeWindow } from "../search/window.ts";
import { formatCount, formatMoney, formatMoneyExact, formatPercent } from "../text/format.ts";
import { AnswerView } from "./answer.tsx";
import { countTokens } from "./figures.ts";
import type { Scope } from "./stack.ts";

export interface CostChangeDialogProps {
  readonly scope: Scope;
  readonly report: Report;
  readonly onClose: () => void;
}

const OTHER_RANGES: readonly Range[] = ["this-week", "this-month"];

/** Why a window costs another amount than the one before: the one that is shown, or one of the calendar. */
export function CostChangeDialog({ scope, report, onClose }: CostChangeDialogProps): ReactNode {
  const { window: shown, filters, now } = report;
  const others = OTHER_RANGES.filter((range) => range !== shown.range);
  const [chosen, choose] = useState<Range | "shown">(
    shown.previous === null ? (others[0] ?? "this-week") : "shown",
  );
  const window = chosen === "shown" ? shown : toTimeWindow({ range: chosen }, chosen, now);
  const { since, until, previous } = window;
  const asked = useQuery({
    ...costChangeQuery(scope, {
      ...(scope === "team" && filters),
      since,
      until,
      before_since: previous?.since,
      before_until: previous?.until,
    }),
    enabled: previous !== null,
  });
  const options = [
    ...(shown.previous === null
      ? []
      : [{ value: "shown" as const, label: shown.range === null ? "Shown" : RANGE_LABELS[shown.range] }]),
    ...others.map((range) => ({ value: range, label: RANGE_LABELS[range] })),
  ];
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      size="lg"
      title="Why did the cost change?"
      description={`${formatWindow(since, until)}${previous === null ? "" : `, compared with ${formatPeriod(previous, now)}`}`}
    >
      <Segmented label="Window" options={options} value={chosen} onValueChange={choose} />
      <AnswerView
        answer={{
          data: asked.data,
          isOutdated: asked.isPlaceholderData,
          failure: asked.error,
          retry: asked.refetch,
        }}
        className="mt-4 min-h-96"
        skeleton={<TableSkeleton rows={8} />}
      >
        {(change) => (
          <>
            <Waterfall change={change} />
            <ModelList change={change} />
          </>
        )}
      </AnswerView>
    </Dialog>
  );
}

type Term = (typeof COST_TERMS)[number];

const TERM_LABELS: { readonly [term in Term]: string } = {
  volume: "Volume",
  models: "Mix of models",
  tokens: "Tokens a request",
  cache: "Cache",
  unpriced: "Unpriced",
  price: "Price",
  unexplained: "Unexplained",
};
/** Terms that say something by being nothing. */
const ALWAYS_SHOWN: ReadonlySet<Term> = new Set(["volume", "models", "tokens", "cache", "price"]);

interface ChangeProps {
  readonly change: CostChange;
}

/** From the one cost to the other, a term a row; each bar begins where the one above it ends. */
function Waterfall({ change }: ChangeProps) {
  const { before, now, difference, terms } = change.total;
  const start = before.cost ?? 0;
  const ends = COST_TERMS.map((_, place) =>
    COST_TERMS.slice(0, place + 1).reduce((sum, term) => sum + terms[term], start),
  );
  const [least, most] = [Math.min(start, ...ends), Math.max(start, ...ends)];
  const toPercent = (amount: number) => (most === least ? 0 : ((amount - least) / (most - least)) * 100);
  return (
    <table className="w-full" aria-label="What the difference is made of">
      <tbody>
        <SumRow label="Before" cost={before.cost} />
        {COST_TERMS.map((term, place) => {
          const amount = terms[term];
          if (amount === 0 && !ALWAYS_SHOWN.has(term)) return null;
          const [from, to] = [toPercent(ends[place - 1] ?? start), toPercent(ends[place] ?? start)];
          return (
            <tr key={term} className="border-t border-line align-top">
              <th scope="row" className="py-1.5 pr-3 text-left font-medium">
                {TERM_LABELS[term]}
                <span className="block text-xs font-normal text-ink-soft">{toFact(term, change)}</span>
              </th>
              <td className="w-2/5 py-2.5 max-sm:hidden">
                <svg width="100%" height={10} aria-hidden="true">
                  <rect
                    x={`${Math.min(from, to)}%`}
                    width={`${Math.abs(to - from)}%`}
                    height={10}
                    className={amount > 0 ? "fill-bad" : "fill-good"}
                  />
                </svg>
              </td>
              <td
                className="py-1.5 pl-3 text-right whitespace-nowrap tabular-nums"
                title={formatMoneyExact(amount)}
              >
                {formatSigned(amount)}
              </td>
            </tr>
          );
        })}
        <SumRow label="Now" cost={now.cost} />
        <tr className="border-t border-line font-semibold">
          <th scope="row" className="py-1.5 text-left">
            Difference
          </th>
          <td className="max-sm:hidden" />
          <td
            className="py-1.5 text-right whitespace-nowrap tabular-nums"
            title={formatMoneyExact(difference)}
          >
            {formatSigned(difference)}
          </td>
        </tr>
      </tbody>
    </table>
  );
}

function SumRow({ label, cost }: { readonly label: string; readonly cost: number | null }) {
  return (
    <tr className="border-t border-line first:border-t-0">
      <th scope="row" className="py-1.5 text-left font-medium">
        {label}
      </th>
      <td className="max-sm:hidden" />
      <td className="py-1.5 text-right whitespace-nowrap tabular-nums">
        <Cost value={cost} used={cost !== null} />
      </td>
    </tr>
  );
}

function formatSigned(amount: number): string {
  return amount > 0 ? `+${formatMoney(amount)}` : formatMoney(amount);
}

const UNREAD: { readonly [state in CostChange["rows"]]: string } = {
  exact: "Rounding of fractions of a unit",
  too_many_requests: "Prices are read of a million requests at most: choose a shorter window",
  rows_removed: "Retention has removed requests of these windows, of which only sums are left",
};

/** The figure behind a term, of both windows, or the models that it comes from. */
function toFact(term: Term, { total: { before, now }, models, rows }: CostChange): string {
  const both = (of: (cost: typeof now) => string) => `${of(before)} → ${of(now)}`;
  switch (term) {
    case "volume":
      return `${both((cost) => formatCount(countAnswered(cost)))} requests that did not fail`;
    case "tokens":
      return `${both((cost) => formatCount(Math.round((countTokens(cost.units) ?? 0) / Math.max(1, countAnswered(cost)))))} tokens a request`;
    case "cache":
      return `${both((cost) => formatPercent(toReadShare(cost)))} of prompts read from a cache`;
    case "unpriced":
      return `${both((cost) => formatCount(cost.unpriced_requests))} requests without a price`;
    case "unexplained":
      return UNREAD[rows];
    default:
      return toLeading(term, models);
  }
}

type WindowCost = CostChange["total"]["now"];

function countAnswered({ requests, failed }: WindowCost): number {
  return requests - failed;
}

function toReadShare({
  units: { input_tokens: input = 0, cached_input_tokens: cached = 0 },
}: WindowCost): number {
  return cached === 0 ? 0 : cached / (input + cached);
}

const LEADING_MAX = 2;

/** The models that have most of a term. */
function toLeading(term: Term, models: CostChange["models"]): string {
  const leading = models
    .filter(({ terms }) => terms[term] !== 0)
    .toSorted((left, right) => Math.abs(right.terms[term]) - Math.abs(left.terms[term]))
    .slice(0, LEADING_MAX);
  if (leading.length === 0) return "No change";
  return leading.map(({ model, terms }) => `${model ?? "No model"} ${formatSigned(terms[term])}`).join(", ");
}

const MODELS_SHOWN = 6;

/** The models whose cost changed most, and what of them did. */
function ModelList({ change: { models } }: ChangeProps) {
  const changed = models.filter(({ difference }) => difference !== 0).slice(0, MODELS_SHOWN);
  if (changed.length === 0) return null;
  return (
    <table className="mt-5 w-full" aria-label="Models whose cost changed most">
      <thead>
        <tr className="text-xs text-ink-soft">
          <th scope="col" className="py-1 text-left font-medium">
            Model
          </th>
          <th scope="col" className="py-1 text-left font-medium max-sm:hidden">
            Mostly
          </th>
          <th scope="col" className="py-1 text-right font-medium max-sm:hidden">
            Before
          </th>
          <th scope="col" className="py-1 text-right font-medium">
            Now
          </th>
          <th scope="col" className="py-1 text-right font-medium">
            Difference
          </th>
        </tr>
      </thead>
      <tbody>
        {changed.map(({ model, before, now, difference, terms }) => (
          <tr key={model} className="border-t border-line">
            <th
              scope="row"
              className={classNames(
                "py-1.5 pr-3 text-left font-normal break-all",
                model !== null && "font-mono",
              )}
            >
              {model ?? "No model"}
            </th>
            <td className="py-1.5 text-ink-soft max-sm:hidden">
              {TERM_LABELS[findLargest(terms, difference)]}
            </td>
            <td className="py-1.5 text-right tabular-nums max-sm:hidden">
              <Cost value={before.cost} used={before.requests > 0} />
            </td>
            <td className="py-1.5 text-right whitespace-nowrap tabular-nums">
              <Cost value={now.cost} used={now.requests > 0} />
            </td>
            <td
              className="py-1.5 pl-3 text-right whitespace-nowrap tabular-nums"
              title={formatMoneyExact(difference)}
            >
              {formatSigned(difference)}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The largest term in the direction of the difference. */
function findLargest(terms: CostChange["total"]["terms"], difference: number): Term {
  const sign = Math.sign(difference);
  return COST_TERMS.reduce((most, term) => (terms[term] * sign > terms[most] * sign ? term : most));
}
