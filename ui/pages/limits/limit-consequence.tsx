import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { type Limit, LIMITS } from "../../api/limits.ts";
import { type Principal, PRINCIPALS } from "../../api/people.ts";
import { breakdownQuery } from "../../api/reports.ts";
import { formatAmount } from "../../limits/limit-words.ts";
import type { SecretNames } from "../../limits/secret-names.ts";
import { formatCount, formatCounted, formatMoney } from "../../text/format.ts";
import {
  findEachPerson,
  type Spend,
  spendByPersonQuery,
  SPENDERS_MAX,
  toSpends,
  useMonth,
} from "./budgets.ts";
import { type LimitForm, toMeaning } from "./limit-form.ts";

/** People of an installation, and what each of them spent this month. */
export interface Affected {
  readonly people: readonly Pick<Principal, "name" | "tags">[];
  readonly limits: readonly Limit[];
  readonly spends: ReadonlyMap<string, Spend>;
  /** What the value of a tag spent, where the form names one. */
  readonly tagSpend: number;
}

export interface LimitConsequenceProps {
  readonly form: LimitForm;
  readonly names: SecretNames;
  /** The limit that is changed; absent where one is made. */
  readonly changed?: Limit | undefined;
}

/** How many limits would be made or changed, for whom, and who would be refused at once: before it is saved. */
export function LimitConsequence({ form, names, changed }: LimitConsequenceProps): ReactNode {
  const affected = useAffected(form);
  const meaning = toMeaning(form, names);
  if (meaning === null || affected === null) return null;
  const over = toOverWords(form, affected);
  return (
    <div role="status" className="flex flex-col gap-1 text-xs text-ink-soft">
      <p className="text-ink">{meaning}</p>
      <p>
        {toChangeWords(changed)} {toForWhomWords(form, affected)}
      </p>
      {over !== null && <p className="text-bad">{over}</p>}
      {toBesideWords(form, affected, changed)?.map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
    </div>
  );
}

function useAffected(form: LimitForm): Affected | null {
  const { since } = useMonth();
  const tagKey = form.who === "tag" ? form.tag.split(":")[0] : undefined;
  const people = useQuery(PRINCIPALS.list());
  const limits = useQuery(LIMITS.list());
  const spends = useQuery(spendByPersonQuery(since));
  const tags = useQuery({
    ...breakdownQuery({ by: `tag:${tagKey}`, since, limit: SPENDERS_MAX }),
    enabled: tagKey !== undefined && tagKey !== "",
    retry: false,
  });
  if (people.data === undefined || limits.data === undefined || spends.data === undefined) return null;
  const tag = toSpends(tags.data?.rows ?? []).get(form.tag.slice((tagKey ?? "").length + 1));
  return {
    people: people.data.rows,
    limits: limits.data.rows,
    spends: toSpends(spends.data.rows),
    tagSpend: tag?.cost ?? 0,
  };
}

function toChangeWords(changed: Limit | undefined): string {
  if (changed === undefined) return "Makes 1 limit,";
  return `Changes 1 limit, “${changed.name}” (now ${formatAmount(changed.measure, changed.amount)}),`;
}

/** `for each of 12 people and services and those added later: ada, ben, cy and 9 more.` */
export function toForWhomWords(form: LimitForm, { people }: Pick<Affected, "people">): string {
  const { who, each, principal, tag } = form;
  const all = people.map(({ name }) => name);
  if (who === "principal") return `for ${principal.trim()}.`;
  if (who === "tag") {
    const fixed = people.filter(({ tags }) => tags?.includes(tag.trim()) === true).map(({ name }) => name);
    const count = fixed.length === 0 ? "no one has it" : `${fixed.length} have it: ${toList(fixed)}`;
    return `for requests with ${tag.trim()}. As a fixed tag ${count}.`;
  }
  if (who !== "everybody") return "for this one alone.";
  const count = all.length === 1 ? "1 person or service" : `${formatCount(all.length)} people and services`;
  if (each === "together") return `for ${count} together.`;
  if (each !== "principal") return "for each of them.";
  return `for each of ${count}, and those added later: ${toList(all)}.`;
}

/** Who has used the amount already, and is refused from the next request on; null for no one. */
export function toOverWords(form: LimitForm, { spends, tagSpend, people }: Affected): string | null {
  const { who, each, principal, amount, measure, window, hasModel, action } = form;
  if (measure !== "cost" || window !== "month" || hasModel || amount === null) return null;
  const effect = action === "warn" ? "warned" : "refused";
  const toSpend = (name: string) => spends.get(name)?.cost ?? 0;
  if (who === "principal") return toOneOver(principal.trim(), toSpend(principal.trim()));
  if (who === "tag") return toOneOver(form.tag.trim(), tagSpend);
  if (who !== "everybody" || each === "key" || each === "tag") return null;
  if (each === "together") {
    const all = [...spends.values()].reduce((sum, { cost }) => sum + (cost ?? 0), 0);
    return toOneOver("Everyone", all);
  }
  const over = people.map(({ name }) => name).filter((name) => toSpend(name) >= amount);
  if (over.length === 0) return null;
  const named = toList(over.map((name) => `${name} (${formatMoney(toSpend(name))})`));
  return `Used up already, and ${effect} from the next request on: ${named}.`;

  function toOneOver(whom: string, spend: number): string | null {
    if (amount === null || spend < amount) return null;
    return `Used up already (${formatMoney(spend)} this month): ${whom} is ${effect} from the next request on.`;
  }
}

/** Other budgets of the same people, of which the lowest counts. */
function toBesideWords(form: LimitForm, { limits }: Affected, changed: Limit | undefined): readonly string[] {
  const { who, each, principal, measure, hasModel } = form;
  if (measure !== "cost" || hasModel) return [];
  const others = limits.filter((limit) => limit.id !== changed?.id);
  if (who === "principal") {
    const shared = findEachPerson(others);
    return shared === undefined
      ? []
      : [
          `“${shared.name}” (${formatAmount("cost", shared.amount)}) applies to ${principal.trim()} too: the lower one counts.`,
        ];
  }
  if (who !== "everybody" || each !== "principal") return [];
  const own = others.filter(({ subject, window }) => subject.principal !== undefined && window === "month");
  return own.length === 0
    ? []
    : [`${formatCounted(own.length, "budget")} of single people stay as they are: the lower one counts.`];
}

const NAMES_SHOWN_MAX = 5;

function toList(names: readonly string[]): string {
  const rest = names.length - NAMES_SHOWN_MAX;
  return rest > 0 ? `${names.slice(0, NAMES_SHOWN_MAX).join(", ")} and ${rest} more` : names.join(", ");
}
