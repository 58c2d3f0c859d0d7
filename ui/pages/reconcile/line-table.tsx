import { type ReactNode, useMemo } from "react";
import type { ReconciledLine } from "../../api/reconcile.ts";
import { Badge, type Tone } from "../../components/chip.tsx";
import type { Column } from "../../components/column.ts";
import { Cost, Units } from "../../components/cost.tsx";
import { Absent, EmptyState } from "../../components/empty.tsx";
import { DataTable } from "../../components/table.tsx";
import { formatCount } from "../../text/format.ts";

export const LINE_WORDS: { readonly [kind in ReconciledLine["kind"]]: string } = {
  equal: "Equal",
  within: "Within",
  lockport_more: "Lockport more",
  bill_more: "Bill more",
  only_here: "Only here",
  only_there: "Only there",
};

const TONES: { readonly [kind in ReconciledLine["kind"]]: Tone } = {
  equal: "good",
  within: "good",
  lockport_more: "warn",
  bill_more: "bad",
  only_here: "warn",
  only_there: "bad",
};

export function isAgreeing({ kind }: ReconciledLine): boolean {
  return kind === "equal" || kind === "within";
}

interface LineTableProps {
  readonly lines: readonly ReconciledLine[];
}

/** Lines of a comparison, those of both sides one above the other. */
export function LineTable({ lines }: LineTableProps) {
  const columns = useMemo(
    () =>
      COLUMNS.filter(
        ({ id }) =>
          (id !== "model" || lines.some(({ model }) => model !== null)) &&
          (id !== "tier" || lines.some(({ tier }) => tier !== null)),
      ),
    [lines],
  );
  return (
    <DataTable
      caption="Lines"
      columns={columns}
      rows={lines}
      getRowId={toLineId}
      empty={
        <EmptyState
          icon="check"
          title="Every line agrees"
          body="Nothing is more than 1 % or five requests apart."
        />
      }
    />
  );
}

function toLineId({ compared_with: source, day, model, tier }: ReconciledLine): string {
  return JSON.stringify([source, day, model, tier]);
}

function Model({ line: { model, billed_as: names } }: { readonly line: ReconciledLine }) {
  if (model === null) return <Absent />;
  const title = names === undefined ? model : `On the bill: ${names.join(", ")}`;
  return (
    <span className="block max-w-72 min-w-0 truncate" title={title}>
      {model}
    </span>
  );
}

/** Ours above theirs, with a word for each. */
function Both({ here, there }: { readonly here: ReactNode; readonly there: ReactNode }) {
  return (
    <span className="inline-grid grid-cols-[auto_auto] items-baseline gap-x-2 text-right tabular-nums">
      <span className="text-xs text-ink-faint">here</span>
      <span>{here}</span>
      <span className="text-xs text-ink-faint">there</span>
      <span>{there}</span>
    </span>
  );
}

function Requests({ line: { here, there } }: { readonly line: ReconciledLine }) {
  return <Both here={toCount(here?.requests)} there={toCount(there?.requests)} />;
}

function toCount(count: number | null | undefined) {
  return count === null || count === undefined ? <Absent /> : formatCount(count);
}

function Tokens({ line: { here, there } }: { readonly line: ReconciledLine }) {
  return <Both here={<Units units={here?.units ?? {}} />} there={<Units units={there?.units ?? {}} />} />;
}

function Costs({ line: { here, there } }: { readonly line: ReconciledLine }) {
  return (
    <Both
      here={
        here === null ? (
          <Absent />
        ) : (
          <Cost value={here.cost} unpriced={here.unpriced_requests > 0} used={here.requests > 0} />
        )
      }
      there={there === null || there.cost === null ? <Absent /> : <Cost value={there.cost} />}
    />
  );
}

function Reasons({ line: { reasons } }: { readonly line: ReconciledLine }) {
  if (reasons.length === 0) return <Absent />;
  return (
    <ul className="flex max-w-96 min-w-48 flex-col gap-1">
      {reasons.map(({ code, text }) => (
        <li key={code} data-reason={code} className="break-words">
          {text}
        </li>
      ))}
    </ul>
  );
}

function Kind({ line: { kind, compared_with: source } }: { readonly line: ReconciledLine }) {
  const word = source === "answers" && kind === "bill_more" ? "Answers more" : LINE_WORDS[kind];
  return <Badge tone={TONES[kind]}>{word}</Badge>;
}

const COLUMNS: readonly Column<ReconciledLine>[] = [
  { id: "day", header: "Day (UTC)", rowHeader: true, sortValue: ({ day }) => day, cell: ({ day }) => day },
  { id: "model", header: "Model", sortValue: ({ model }) => model, cell: (line) => <Model line={line} /> },
  { id: "tier", header: "Tier", sortValue: ({ tier }) => tier, cell: ({ tier }) => tier ?? <Absent /> },
  {
    id: "line",
    header: "Line",
    sortValue: ({ kind }) => LINE_WORDS[kind],
    cell: (line) => <Kind line={line} />,
  },
  { id: "requests", header: "Requests", align: "end", cell: (line) => <Requests line={line} /> },
  { id: "units", header: "Units", align: "end", cell: (line) => <Tokens line={line} /> },
  {
    id: "cost",
    header: "Cost",
    align: "end",
    // The largest difference first.
    sortValue: ({ here, there }) => Math.abs((here?.cost ?? 0) - (there?.cost ?? 0)),
    cell: (line) => <Costs line={line} />,
  },
  { id: "reasons", header: "Likely reason", wrap: true, cell: (line) => <Reasons line={line} /> },
];
