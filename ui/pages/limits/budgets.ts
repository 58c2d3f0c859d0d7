import { utcMonth } from "d3-time";
import { useMemo } from "react";
import type { Limit, LimitUse } from "../../api/limits.ts";
import type { Principal } from "../../api/people.ts";
import { type BreakdownRow, breakdownQuery } from "../../api/reports.ts";
import { type NameSecret, toWhomWords } from "../../limits/limit-words.ts";
import { useMinute } from "../../search/now.ts";
import { toIso, toTimeWindow } from "../../search/window.ts";

/** Monthly budgets by person: a row for each limit of cost a month, and one for everyone who has none of their own. */

/** A person's use in a month; cost is null where nothing was priced. */
export type Spend = Pick<BreakdownRow, "cost" | "unpriced">;

export interface BudgetRow {
  /** The limit's, so that the address opens it; else `person:` and a name. */
  readonly id: string;
  readonly whom: string;
  /** Whose budget it would be: only of a single person, model or no model. */
  readonly person: string | null;
  /** Null: no budget of their own. */
  readonly limit: Limit | null;
  /** The budget that limits them: their own, or the one that each person has, with their own use of it. */
  readonly budget: Limit | null;
  readonly spent: Spend | null;
  readonly before: Spend | null;
}

export interface Month {
  readonly since: string;
  /** Exclusive. */
  readonly until: string;
  /** Since when the month before it was. */
  readonly beforeSince: string;
}

/** The present month, UTC. */
export function useMonth(): Month {
  const { since: beforeSince = "", until: since = "" } = toTimeWindow({}, "last-month", useMinute());
  return useMemo(
    () => ({ since, until: toIso(utcMonth.offset(new Date(since), 1).getTime()), beforeSince }),
    [since, beforeSince],
  );
}

/** As many as one answer can have. */
export const SPENDERS_MAX = 500;

/** Each person's use from an instant on. */
export function spendByPersonQuery(since: string, until?: string) {
  return breakdownQuery({ by: "principal", since, until, limit: SPENDERS_MAX });
}

export interface BudgetSources {
  readonly limits: readonly Limit[];
  readonly people: readonly Principal[];
  readonly now: readonly BreakdownRow[];
  readonly before: readonly BreakdownRow[];
  /** Everyone together in the month before. */
  readonly allBefore: Spend | null;
  readonly nameSecret: NameSecret;
}

export function isBudget({ measure, window }: Limit): boolean {
  return measure === "cost" && window === "month";
}

export function toBudgetRows(sources: BudgetSources): readonly BudgetRow[] {
  const { limits, people, now, before, allBefore, nameSecret } = sources;
  const budgets = limits.filter(isBudget);
  const spent = toSpends(now);
  const spentBefore = toSpends(before);
  const shared = findEachPerson(budgets);
  const toBefore = (name: string | null) => (name === null ? null : (spentBefore.get(name) ?? null));
  const held = budgets.map((limit): BudgetRow => {
    const person = toPerson(limit);
    return {
      id: limit.id,
      whom: toWhomWords(limit, nameSecret),
      person,
      limit,
      budget: limit,
      spent: { cost: limit.used, unpriced: limit.unpriced_requests },
      before: limit.each === undefined && isOfAll(limit.subject) ? allBefore : toBefore(person),
    };
  });
  const named = new Set(held.map(({ person }) => person));
  const others = people
    .filter(({ name }) => !named.has(name))
    .map(({ name }): BudgetRow => {
      const own = spent.get(name) ?? null;
      return {
        id: `person:${name}`,
        whom: name,
        person: name,
        limit: null,
        budget: shared === undefined ? null : toUsedBy(shared, name, own?.cost ?? 0),
        spent: own,
        before: toBefore(name),
      };
    });
  return [...held, ...others];
}

/** The budget that each person has for themselves, whatever the model; the lowest of several. */
export function findEachPerson(limits: readonly Limit[]): Limit | undefined {
  return limits
    .filter(
      (limit) => isBudget(limit) && limit.enabled && limit.each === "principal" && isOfAll(limit.subject),
    )
    .toSorted((one, other) => one.amount - other.amount)[0];
}

function isOfAll(subject: Limit["subject"]): boolean {
  return Object.keys(subject).length === 0;
}

function toPerson({ subject, each }: Limit): string | null {
  const { principal = null, model } = subject;
  return each === undefined && model === undefined ? principal : null;
}

/** The limit's own count, where it tells one; else the report's, which counts by arrival. */
function toUsedBy(limit: Limit, name: string, reported: number): Limit {
  const { used } = limit.top?.find(({ principal }: LimitUse) => principal === name) ?? { used: reported };
  return { ...limit, used, left: Math.max(0, limit.amount - used) };
}

export function toSpends(rows: readonly BreakdownRow[]): ReadonlyMap<string, Spend> {
  return new Map(rows.flatMap((row) => (row.value === null ? [] : [[row.value, row] as const])));
}

/** Rows of people that nothing is told of: no budget of their own, and nothing spent in two months. */
export function isIdle({ limit, spent, before }: BudgetRow): boolean {
  return limit === null && spent === null && before === null;
}
