import { UNITS } from "#kernel/units.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import type { TeamUsageRow, Units } from "../../api/reports.ts";
import type { Breakdown, Measure } from "../../search/breakdown.ts";
import { addTag, type Filters } from "../../search/filters.ts";
import { addKnown, hasUnpricedUnits, toMeasured, type Figures } from "../../reports/measure.ts";
import { toClientRoots } from "../../reports/client-roots.ts";

/** What the usage is cut by. */
export interface Cut {
  readonly by: Breakdown;
  /** The tag whose values are told apart, when it is cut by tag; null when nothing is tagged. */
  readonly tagKey: string | null;
}

/** All rows that share a model, a person and so on. */
export interface Group extends Figures {
  readonly id: string;
  readonly label: string;
  /** What narrows the page to it; null where no filter says so. */
  readonly patch: Filters | null;
  readonly cancelled: number;
  /** Used without a price, beside what is in `cost` or instead of it. */
  readonly hasUnpriced: boolean;
}

/** The rows that have none of what they are cut by; no name begins with a space. */
export const NONE_ID = " none";

/** Each row in one group and only one, whatever the cut: the sums over all groups are those of the rows. */
export function toGroups(rows: readonly TeamUsageRow[], cut: Cut, filters: Filters): readonly Group[] {
  const toName = toNaming(rows, cut);
  const groups = new Map<string | null, Growing>();
  for (const row of rows) {
    const name = toName(row);
    const group = groups.get(name);
    if (group === undefined) groups.set(name, begin(row, toIdentity(cut, name, filters)));
    else add(group, row);
  }
  return [...groups.values()];
}

/** The largest first; without a number last. */
export function rankGroups(groups: readonly Group[], measure: Measure): readonly Group[] {
  const sizes = new Map(groups.map((group) => [group, toMeasured(group, measure) ?? -1]));
  return groups.toSorted(
    (a, b) =>
      (sizes.get(b) ?? -1) - (sizes.get(a) ?? -1) || b.requests - a.requests || compareCodeUnits(a.id, b.id),
  );
}

/** Those that get a series of their own: the largest that have something to draw and a filter to ask for it with. */
export function toTopGroups(ranked: readonly Group[], measure: Measure, countMax: number): readonly Group[] {
  return ranked
    .filter((group) => group.patch !== null && (toMeasured(group, measure) ?? 0) > 0)
    .slice(0, countMax);
}

/** The keys of the tags in use, the one on the most requests first; `app` has a cut of its own and comes last. */
export function toTagKeys(rows: readonly TeamUsageRow[]): readonly string[] {
  const requests = new Map<string, number>();
  for (const row of rows) {
    for (const tag of row.tags) {
      const key = tag.slice(0, tag.indexOf(":"));
      requests.set(key, (requests.get(key) ?? 0) + row.requests);
    }
  }
  return [...requests]
    .toSorted(
      ([a, used], [b, usedToo]) =>
        Number(a === APP_KEY) - Number(b === APP_KEY) || usedToo - used || compareCodeUnits(a, b),
    )
    .map(([key]) => key);
}

const APP_KEY = "app";

type Naming = (row: TeamUsageRow) => string | null;

function toNaming(rows: readonly TeamUsageRow[], cut: Cut): Naming {
  switch (cut.by) {
    case "model":
    case "principal":
    case "provider": {
      const { by } = cut;
      return (row) => row[by];
    }
    case "client": {
      const roots = toClientRoots(rows.map(({ client }) => client));
      return ({ client }) => (client === null ? null : (roots.get(client) ?? null));
    }
    default: {
      const key = toTagKey(cut);
      if (key === null) return () => null;
      const prefix = `${key}:`;
      return ({ tags }) => tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? null;
    }
  }
}

function toTagKey({ by, tagKey }: Cut): string | null {
  return by === "app" ? APP_KEY : tagKey;
}

type Identity = Pick<Group, "id" | "label" | "patch">;

function toIdentity(cut: Cut, name: string | null, filters: Filters): Identity {
  if (name === null) return { id: NONE_ID, label: toNoneLabel(cut), patch: null };
  return { id: name, label: toLabel(cut, name), patch: toPatch(cut, name, filters) };
}

function toLabel({ by, tagKey }: Cut, name: string): string {
  return by === "tag" ? `${tagKey}:${name}` : name;
}

function toNoneLabel({ by, tagKey }: Cut): string {
  if (by === "app" || tagKey === null) return "untagged";
  return by === "tag" ? `without ${tagKey}` : "not named";
}

function toPatch(cut: Cut, name: string, filters: Filters): Filters | null {
  if (cut.by !== "app" && cut.by !== "tag") return { [cut.by]: name };
  const pair = `${toTagKey(cut)}:${name}`;
  const tag = addTag(filters, pair);
  // As many tags as a question can have are there already.
  return tag.includes(pair) ? { tag } : null;
}

interface Growing extends Identity {
  requests: number;
  cancelled: number;
  cost: number | null;
  hasUnpriced: boolean;
  units: Units;
}

function begin(row: TeamUsageRow, identity: Identity): Growing {
  const { requests, cancelled, cost, units } = row;
  const hasUnpriced = hasUnpricedUnits(row);
  return { ...identity, requests, cancelled, cost, hasUnpriced, units: { ...units } };
}

function add(group: Growing, row: TeamUsageRow): void {
  group.requests += row.requests;
  group.cancelled += row.cancelled;
  group.cost = addKnown(group.cost, row.cost);
  group.hasUnpriced ||= hasUnpricedUnits(row);
  for (const unit of UNITS) {
    const sum = addKnown(group.units[unit] ?? null, row.units[unit]);
    if (sum !== null) group.units[unit] = sum;
  }
}
