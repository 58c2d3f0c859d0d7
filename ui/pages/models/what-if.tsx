import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { UNIT_TABLE } from "#kernel/units.ts";
import { FILTER_VALUES_MAX } from "#stats/filter.ts";
import { listedModelsQuery } from "../../api/models.ts";
import { type WhatIf, whatIfQuery } from "../../api/reports.ts";
import { Button, IconButton } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { ComboField } from "../../components/combo-field.tsx";
import { Cost, Unpriced } from "../../components/cost.tsx";
import { Absent } from "../../components/empty.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { TableSkeleton } from "../../components/skeleton.tsx";
import { WindowPicker } from "../../filters/window-picker.tsx";
import { AnswerView, CountedWindow } from "../../reports/answer.tsx";
import { readWhatIfSearch } from "../../search/pages.ts";
import { useReport } from "../../search/report.ts";
import { formatCount, formatCounted } from "../../text/format.ts";
import { ModelSections } from "./sections.tsx";

/** What the usage of models would have cost at the prices of other ones. */
export function WhatIfPage(): ReactNode {
  const report = useReport("30d");
  const navigate = useNavigate();
  const { pair } = readWhatIfSearch(useSearch({ strict: false }));
  const [pairs, setPairs] = useState<readonly Pair[]>(() =>
    pair.length === 0 ? [NO_PAIR] : pair.map(parsePair),
  );
  const { data: models = [] } = useQuery(listedModelsQuery());
  const names = useMemo(() => new Set(models.map(({ id }) => id)), [models]);
  const asked = toAskedPairs(pairs, names);
  const { since, until } = report.query;
  const answer = useQuery({ ...whatIfQuery({ pairs: asked, since, until }), enabled: asked.length > 0 });
  const change = (next: readonly Pair[]) => {
    setPairs(next);
    void navigate({
      to: ".",
      search: (current: object) => ({ ...current, pair: next.filter(isWritten).map(formatPair) }),
      replace: true,
      resetScroll: false,
    });
  };
  return (
    <>
      <PageHead
        title="What if"
        lead="The same tokens at today’s prices of other models. No forecast of how they would answer."
        actions={<WindowPicker report={report} />}
      />
      <ModelSections />
      <Card className="mb-4">
        <Pairs pairs={pairs} models={models} onChange={change} />
      </Card>
      {asked.length > 0 && (
        <AnswerView
          answer={{
            data: answer.data,
            isOutdated: answer.isPlaceholderData,
            failure: answer.error,
            retry: answer.refetch,
          }}
          skeleton={<TableSkeleton rows={4} />}
        >
          {(data) => (
            <>
              <CountedWindow notes={data.notes} />
              <Comparison answer={data} />
            </>
          )}
        </AnswerView>
      )}
    </>
  );
}

interface Pair {
  readonly from: string;
  readonly to: string;
}

const NO_PAIR: Pair = { from: "", to: "" };
/** As many as one question can have. */
const PAIRS_MAX = FILTER_VALUES_MAX;

/** `best>small` in the address; what is in the way within a name is escaped. */
function formatPair({ from, to }: Pair): string {
  return `${encodeURIComponent(from)}>${encodeURIComponent(to)}`;
}

function parsePair(text: string): Pair {
  const [from = "", to = ""] = text.split(">").map(unescapeName);
  return { from, to };
}

function unescapeName(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function isWritten({ from, to }: Pair): boolean {
  return from !== "" || to !== "";
}

/** Those of two models that there are; of one model's only the first. */
function toAskedPairs(pairs: readonly Pair[], names: ReadonlySet<string>): readonly Pair[] {
  return pairs.filter(
    ({ from, to }, index) => names.has(from) && names.has(to) && from !== to && !isTwice(pairs, index),
  );
}

function isTwice(pairs: readonly Pair[], index: number): boolean {
  const from = pairs[index]?.from ?? "";
  return from !== "" && pairs.findIndex((pair) => pair.from === from) < index;
}

interface PairsProps {
  readonly pairs: readonly Pair[];
  readonly models: readonly { readonly id: string; readonly owned_by: string }[];
  readonly onChange: (pairs: readonly Pair[]) => void;
}

function Pairs({ pairs, models, onChange }: PairsProps) {
  const options = models.map(({ id, owned_by: provider }) => ({ value: id, detail: provider }));
  const common = { mono: true, noneText: "No model has this name" } as const;
  return (
    <div className="flex min-w-0 flex-col gap-3">
      {pairs.map((pair, index) => {
        const put = (patch: Partial<Pair>) => onChange(pairs.with(index, { ...pair, ...patch }));
        const number = pairs.length === 1 ? "" : ` ${index + 1}`;
        return (
          // A pair has no name of its own, and keeps its place.
          // oxlint-disable-next-line no-array-index-key
          <div key={index} className="flex min-w-0 flex-wrap items-start gap-3">
            <div className="min-w-48 flex-1">
              <ComboField
                {...common}
                label={`Model${number}`}
                options={options}
                value={pair.from}
                onValueChange={(from) => put({ from })}
                error={isTwice(pairs, index) ? "This model is in a row above" : null}
              />
            </div>
            <div className="min-w-48 flex-1">
              <ComboField
                {...common}
                label={`Other model${number}`}
                options={options.filter(({ value }) => value !== pair.from)}
                value={pair.to}
                onValueChange={(to) => put({ to })}
              />
            </div>
            {pairs.length > 1 && (
              <div className="pt-6">
                <IconButton
                  icon="trash"
                  label={`Remove row ${index + 1}`}
                  onClick={() => onChange(pairs.toSpliced(index, 1))}
                />
              </div>
            )}
          </div>
        );
      })}
      <div>
        <Button
          icon="plus"
          size="sm"
          disabled={pairs.length >= PAIRS_MAX}
          onClick={() => onChange([...pairs, NO_PAIR])}
        >
          Add model
        </Button>
      </div>
    </div>
  );
}

interface ComparisonProps {
  readonly answer: WhatIf;
}

function Comparison({ answer }: ComparisonProps) {
  const { models, units, total } = answer;
  if (total.requests === 0)
    return (
      <p className="text-ink-soft">
        Nothing was used of {models.map(({ from }) => from).join(", ")} in this window.
      </p>
    );
  return (
    <Card>
      <div role="region" aria-label="Costs by unit" tabIndex={0} className="overflow-x-auto">
        <table className="w-full text-left text-sm max-sm:text-xs">
          <caption className="sr-only">Costs as they were, and at the prices of the other models</caption>
          <thead className="text-ink-soft">
            <tr className="border-b border-line">
              {HEADINGS.map(([heading, className]) => (
                <th key={heading} scope="col" className={className}>
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          {models.map((model) => (
            <ModelRows
              key={model.from}
              model={model}
              units={units.filter(({ from }) => from === model.from)}
              isExact={answer.unit_costs === "exact"}
              isAlone={models.length === 1}
            />
          ))}
          <tfoot className="border-t border-line-strong">
            <SumRow
              name={formatCounted(total.requests, "request")}
              sum={total}
              isUnpriced={units.some(isUnpriced)}
            />
          </tfoot>
        </table>
      </div>
      <Notes answer={answer} />
    </Card>
  );
}

type UnitRow = WhatIf["units"][number];

function isUnpriced({ unpriced_reason: reason }: UnitRow): boolean {
  return reason !== undefined;
}

interface ModelRowsProps {
  readonly model: WhatIf["models"][number];
  readonly units: readonly UnitRow[];
  readonly isExact: boolean;
  /** Its sum is the sum of all. */
  readonly isAlone: boolean;
}

function ModelRows({ model, units, isExact, isAlone }: ModelRowsProps) {
  return (
    <tbody>
      <tr className="border-b border-line">
        <th
          scope="rowgroup"
          colSpan={HEADINGS.length}
          className="pt-3 pb-1.5 font-mono font-medium break-words"
        >
          {model.from} → {model.to}
        </th>
      </tr>
      {units.map((row) => (
        <tr key={`${row.unit} ${row.tier} ${row.geo}`} className="border-b border-line">
          <th scope="row" className={NAME_CLASS}>
            {UNIT_TABLE[row.unit].label}
            <span className="text-ink-soft">
              {[row.tier, row.geo].map((condition) => (condition === undefined ? "" : ` · ${condition}`))}
            </span>
          </th>
          <td className={QUANTITY_CLASS}>{formatCount(row.quantity)}</td>
          <td className={FIGURE_CLASS}>
            <Cost value={row.cost} used={isExact && row.quantity > 0} />
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
      {!isAlone && (
        <SumRow
          name={formatCounted(model.requests, "request")}
          sum={model}
          isUnpriced={units.some(isUnpriced)}
        />
      )}
    </tbody>
  );
}

interface SumRowProps {
  readonly name: string;
  readonly sum: WhatIf["total"];
  /** The other model has no price for some of it. */
  readonly isUnpriced: boolean;
}

function SumRow({ name, sum, isUnpriced: isPartial }: SumRowProps) {
  return (
    <tr className="font-medium text-ink">
      <th scope="row" className={`${NAME_CLASS} font-medium`}>
        {name}
      </th>
      <td className="max-sm:hidden" />
      <td className={FIGURE_CLASS}>
        <Cost value={sum.cost} unpriced={sum.unpriced_requests > 0} used={sum.requests > 0} />
      </td>
      <td className={FIGURE_CLASS}>
        <Cost value={sum.other_cost} unpriced={isPartial} used={sum.requests > 0} />
      </td>
      <td className={FIGURE_CLASS}>
        <Difference value={sum.difference} />
      </td>
    </tr>
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
function Notes({ answer }: ComparisonProps) {
  const { models, total, units, unit_costs: unitCosts } = answer;
  const othersOf = (found: WhatIf["models"]) => [...new Set(found.map(({ to }) => to))].join(", ");
  const unpriced = models.filter((model) => units.some((row) => row.from === model.from && isUnpriced(row)));
  const cached = models.filter((model) => model.cache_writes_as_input);
  const conditional = models.filter((model) => model.conditions_left_out !== undefined);
  const notes = [
    unpriced.length > 0 &&
      `${othersOf(unpriced)} ${unpriced.length === 1 ? "has" : "have"} no price for some of it, which is not a cost of $0: there is no difference in sum.`,
    total.unpriced_requests > 0 &&
      `${formatCounted(total.unpriced_requests, "request")} had units without a price when recorded: there is no difference.`,
    cached.length > 0 &&
      `Cache writes, audio and images have prices of their own at ${othersOf(cached)}, and are counted as input and output here.`,
    conditional.length > 0 &&
      `Prices of ${othersOf(conditional)} that depend on a request’s length or hour are not applied.`,
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
