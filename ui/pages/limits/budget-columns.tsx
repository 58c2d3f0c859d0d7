import { useQueryClient } from "@tanstack/react-query";
import type { ComponentProps, ReactNode } from "react";
import { type Limit, LIMITS } from "../../api/limits.ts";
import { useUndo } from "../../api/changing.ts";
import { type Column, costColumn } from "../../components/column.ts";
import { Cost } from "../../components/cost.tsx";
import { Absent } from "../../components/empty.tsx";
import { Icon } from "../../components/icon.tsx";
import { useToast } from "../../components/toast.tsx";
import { InlineNumber, type NumberChange } from "../../form/inline-number.tsx";
import { LevelBadge, LimitMeter, type LimitMeterProps, PaceText, UsedUp } from "../../limits/limit-view.tsx";
import { formatAmount, toHeldWords } from "../../limits/limit-words.ts";
import { PACE_RULE } from "../../limits/pace.ts";
import type { SecretNames } from "../../limits/secret-names.ts";
import type { BudgetRow, Month } from "./budgets.ts";
import { LimitConsequence } from "./limit-consequence.tsx";
import { type LimitForm, NEW_LIMIT, toLimitDraft, toLimitForm } from "./limit-form.ts";

export interface BudgetTable {
  readonly month: Month;
  readonly names: SecretNames;
  /** The limit that was made last in the table: its row takes the place of the person's, and the focus. */
  readonly made: string | null;
  readonly onMade: (id: string) => void;
}

/** Columns of monthly budgets by person. Keep `table` in a memo. */
export function toBudgetColumns(table: BudgetTable): readonly Column<BudgetRow>[] {
  return [
    whomColumn(({ whom, limit }) => ({ whom, name: limit?.name })),
    {
      id: "budget",
      header: "Budget",
      headerTitle: "A press changes it",
      width: "w-24",
      align: "end",
      sortValue: ({ budget }) => budget?.amount ?? null,
      cell: (row) => <BudgetAmount row={row} table={table} />,
    },
    {
      id: "used",
      header: "Spent",
      headerTitle: "This month. A budget for each of several shows the highest.",
      width: "w-40",
      descendingFirst: true,
      sortValue: ({ budget, spent }) => (budget === null ? toUnlimited(spent?.cost ?? 0) : toShare(budget)),
      cell: (row) => <Spent row={row} />,
    },
    {
      id: "pace",
      header: "At this pace",
      headerTitle: PACE_RULE,
      width: "w-38",
      cell: ({ budget, limit, person, spent }) => (
        <>
          <PaceText limit={budget ?? toUnlimitedUse(spent?.cost ?? 0, table.month)} />
          {budget !== null && (
            <UsedUp limit={budget} of={limit === null ? (person ?? undefined) : undefined} none={null} />
          )}
        </>
      ),
    },
    costColumn({
      id: "before",
      header: "Last month",
      width: "w-24",
      value: ({ before }) =>
        before === null
          ? { value: null, used: false }
          : { value: before.cost, unpriced: before.unpriced > 0 },
    }),
  ];
}

/** Whom a row is about, with the name of the limit beneath. */
export function whomColumn<Row>(toWhom: (row: Row) => WhomProps): Column<Row> {
  return {
    id: "whom",
    header: "Applies to",
    rowHeader: true,
    width: "w-40",
    sortValue: (row) => toWhom(row).whom,
    cell: (row) => <Whom {...toWhom(row)} />,
  };
}

interface WhomProps {
  readonly whom: string;
  /** The limit's name. */
  readonly name: string | undefined;
}

function Whom({ whom, name }: WhomProps) {
  return (
    <span className="block min-w-0">
      <span className="block truncate font-medium" title={whom}>
        {whom}
      </span>
      {name !== undefined && (
        <span className="block truncate text-xs font-normal text-ink-faint" title={name}>
          {name}
        </span>
      )}
    </span>
  );
}

function Spent({ row: { budget, spent, limit } }: { readonly row: BudgetRow }) {
  if (budget !== null) {
    const isOfEach = limit === null || limit.each !== undefined;
    return <Used limit={budget} of={isOfEach ? toWhose(budget) : undefined} />;
  }
  return spent === null ? <Absent /> : <Cost value={spent.cost} unpriced={spent.unpriced > 0} />;
}

/** What was used of a limit, and that it is close to its amount, at it or off. */
export function Used(props: LimitMeterProps & ComponentProps<typeof LevelBadge>) {
  return (
    <>
      <LimitMeter {...props} />
      <LevelBadge limit={props.limit} />
    </>
  );
}

export function toShare({ enabled, used, amount }: Limit): number {
  return enabled ? used / amount : -1;
}

/** Behind all that have a budget, the largest first. */
function toUnlimited(cost: number): number {
  return -2 - 1 / (1 + cost);
}

function toUnlimitedUse(used: number, { since, until }: Month) {
  return { measure: "cost", amount: null, used, window_start: since, resets_at: until } as const;
}

function toWhose({ top }: Limit): string {
  return top?.[0]?.principal ?? "no one";
}

interface BudgetAmountProps {
  readonly row: BudgetRow;
  readonly table: BudgetTable;
}

/** The amount of a budget, which a press makes a field: another amount, or for a person without one a budget of their own. */
function BudgetAmount({ row, table }: BudgetAmountProps): ReactNode {
  const { names, made } = table;
  const { whom, limit, budget } = row;
  const save = useBudgetChange(row, table);
  const isInherited = limit === null && budget !== null;
  const amount = budget === null ? "none" : formatAmount("cost", budget.amount);
  return (
    <InlineNumber
      buttonLabel={`Budget of ${whom}: ${amount}${isInherited ? ", as each person" : ""}. ${budget === null ? "Set" : "Change"}`}
      label={`Budget of ${whom}, in dollars a month`}
      prefix="$"
      value={limit?.amount ?? null}
      hint="Enter saves"
      isRequired
      takesFocus={limit !== null && limit.id === made}
      onSave={save}
      consequence={{
        title: `What this budget of ${whom} would mean`,
        of: (next) => (
          <div className="max-w-80">
            <LimitConsequence form={toForm(row, next)} names={names} changed={limit ?? undefined} />
          </div>
        ),
      }}
    >
      {budget === null ? (
        <span className="text-accent">Set</span>
      ) : limit === null ? (
        <span className="inline-flex items-center gap-1 text-ink-soft" title={`From ${budget.name}`}>
          <Icon name="link" size={12} label="as each person" className="text-ink-faint" />
          {amount}
        </span>
      ) : (
        amount
      )}
    </InlineNumber>
  );
}

function toForm({ limit, person }: BudgetRow, amount: number | null): LimitForm {
  const begin: LimitForm =
    limit === null ? { ...NEW_LIMIT, who: "principal", principal: person ?? "" } : toLimitForm(limit);
  return { ...begin, amount };
}

/** Changes the limit of a row, or makes the first one of a person; each can be taken back. */
function useBudgetChange(row: BudgetRow, { names, onMade }: BudgetTable) {
  const client = useQueryClient();
  const { notify } = useToast();
  const toUndo = useUndo();
  const { limit } = row;
  return async ({ was, next }: NumberChange) => {
    const draft = toLimitDraft(toForm(row, next), names);
    if (next === null || draft === null) return;
    try {
      const saved =
        limit === null
          ? await LIMITS.create.run(draft)
          : await LIMITS.update.run({ id: limit.id, patch: { amount: next }, from: limit });
      if (limit === null) onMade(saved.id);
      const action =
        was === null
          ? toUndo(LIMITS.remove, { id: saved.id, from: saved }, `${saved.name} is deleted again`)
          : toUndo(
              LIMITS.update,
              { id: saved.id, patch: { amount: was }, from: saved },
              `${saved.name} is as it was`,
            );
      notify({
        title: `${saved.name} ${limit === null ? "created" : "saved"}`,
        body: `${formatAmount("cost", next)} a month. ${toHeldWords(saved)} Applies from the next request.`,
        tone: "good",
        action,
      });
    } finally {
      await LIMITS.update.refresh(client);
    }
  };
}
