import { compareCodeUnits, toCounted } from "#kernel/text.ts";
import type { Facets, TeamUsageRow, UsageGroup, UsageSeries } from "../api/reports.ts";
import { OTHER_ID } from "../charts/series.ts";
import type { Breakdown } from "../search/breakdown.ts";
import { addTag, type Filters } from "../search/filters.ts";

/** The dimension that the usage is cut by. */
export interface Cut {
  readonly by: Breakdown;
  /** The tag whose values are told apart, when it is cut by tag; null when nothing is tagged. */
  readonly tagKey: string | null;
}

/** All requests that share a model, a person and so on. */
export interface Group extends Omit<UsageGroup, "value"> {
  readonly id: string;
  readonly label: string;
  /** The filter that narrows the page to it; null where no filter says so. */
  readonly patch: Filters | null;
}

/** The requests that have none of what they are cut by; no name begins with a space. */
export const NONE_ID = " none";

const APP_KEY = "app";

/** What narrows a page to a group and cuts that by something else; null where no filter says the group. */
export function toGroupSearch({ patch }: Group, cut: Cut) {
  if (patch === null) return null;
  return { ...patch, by: cut.by === "model" ? ("principal" as const) : undefined, tagged: undefined };
}

/** The parameter that asks the report for it. */
export function toGroupBy(cut: Cut): string {
  const { by } = cut;
  return by === "app" || by === "tag" ? `tag:${toTagKey(cut)}` : by;
}

/** Each request in one group and only one, the largest first; what the report does not tell apart is the last one. */
export function toGroups(
  { groups = [], group_count: count = 0, other = null }: UsageSeries,
  cut: Cut,
  filters: Filters,
): readonly Group[] {
  const named = groups.map(({ value, ...figures }) =>
    Object.assign(figures, toIdentity(cut, value, filters)),
  );
  if (other === null) return named;
  return [
    ...named,
    { ...other, id: OTHER_ID, label: toCounted(count - groups.length, "other"), patch: null },
  ];
}

/** The keys of the tags in use, the one on the most requests first; `app` has a cut of its own and comes last. */
export function toTagKeys({ tags, counts }: Pick<Facets, "tags" | "counts">): readonly string[] {
  const requests = new Map<string, number>();
  for (const [index, tag] of tags.entries()) {
    const key = tag.slice(0, tag.indexOf(":"));
    requests.set(key, (requests.get(key) ?? 0) + (counts?.tags[index] ?? 0));
  }
  return [...requests]
    .toSorted(
      ([a, used], [b, usedToo]) =>
        Number(a === APP_KEY) - Number(b === APP_KEY) || usedToo - used || compareCodeUnits(a, b),
    )
    .map(([key]) => key);
}

/** Where nothing is tagged any key does: every request is without it. */
function toTagKey({ by, tagKey }: Cut): string {
  return by === "app" ? APP_KEY : (tagKey ?? APP_KEY);
}

/** The id of the group of a value. */
export function toGroupId(name: string | null): string {
  if (name === null) return NONE_ID;
  // A User-Agent may be there and empty, which no filter can say.
  return name === "" ? " empty" : name;
}

type Identity = Pick<Group, "id" | "label" | "patch">;

function toIdentity(cut: Cut, name: string | null, filters: Filters): Identity {
  const id = toGroupId(name);
  if (name === null) return { id, label: toNoneLabel(cut), patch: null };
  if (name === "") return { id, label: "empty", patch: null };
  return { id, label: toLabel(cut, name), patch: toPatch(cut, name, filters) };
}

function toLabel({ by, tagKey }: Cut, name: string): string {
  return by === "tag" ? `${tagKey}:${name}` : name;
}

function toNoneLabel({ by, tagKey }: Cut): string {
  if (by === "model") return "no model";
  if (by === "client") return "not named";
  return by === "app" || tagKey === null ? "untagged" : `without ${tagKey}`;
}

function toPatch(cut: Cut, name: string, filters: Filters): Filters | null {
  if (cut.by !== "app" && cut.by !== "tag") return { [cut.by]: name };
  const pair = `${toTagKey(cut)}:${name}`;
  const tag = addTag(filters, pair);
  // As many tags as a question can have are there already.
  return tag.includes(pair) ? { tag } : null;
}

/** A row of usage: its group, and what it was used with. */
export interface CompanionRow {
  readonly group: string;
  readonly name: string;
  readonly requests: number;
  readonly cost: number | null;
}

/** By the group's id: the names that go with it, first the one that cost most there, or had the most requests where nothing has a price. */
export function toCompanions(rows: readonly CompanionRow[]): ReadonlyMap<string, readonly string[]> {
  const byGroup = Map.groupBy(rows, ({ group }) => group);
  return new Map([...byGroup].map(([group, own]) => [group, toRankedNames(own)]));
}

function toRankedNames(rows: readonly CompanionRow[]): readonly string[] {
  return [...Map.groupBy(rows, ({ name }) => name)]
    .map(([name, own]) => ({
      name,
      cost: own.reduce((sum, row) => sum + (row.cost ?? 0), 0),
      requests: own.reduce((sum, row) => sum + row.requests, 0),
    }))
    .toSorted(
      (left, right) =>
        right.cost - left.cost || right.requests - left.requests || compareCodeUnits(left.name, right.name),
    )
    .map(({ name }) => name);
}

/** A cut whose groups rows of usage name: they do not tell their tier. */
interface CompanionCut extends Cut {
  readonly by: Exclude<Breakdown, "tier">;
}

export function hasCompanions(cut: Cut): cut is CompanionCut {
  return cut.by !== "tier";
}

/** What the team used: with a model goes the provider that served it, with everything else the model. */
export function toCompanionRow(row: TeamUsageRow, cut: CompanionCut): CompanionRow {
  const { requests, cost } = row;
  const name = cut.by === "model" ? row.provider : row.model;
  return { group: toRowGroup(row, cut), name, requests, cost };
}

function toRowGroup(row: TeamUsageRow, { by, tagKey }: CompanionCut): string {
  if (by !== "app" && by !== "tag") return toGroupId(row[by]);
  const prefix = `${by === "app" ? APP_KEY : tagKey}:`;
  return row.tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? NONE_ID;
}
