import type { TeamUsageRow } from "../api/reports.ts";
import { NONE_ID, toGroupId, type Cut } from "./groups.ts";

/** What goes with a group: of a model the provider that served it, of everything else the model that it used. */
export interface Companion {
  readonly name: string;
  /** Others beside it. */
  readonly moreCount: number;
}

type UsedRow = Pick<
  TeamUsageRow,
  "principal" | "provider" | "model" | "client" | "tags" | "requests" | "cost"
>;

/** By the group's id: the companion that cost most there, or had the most requests where nothing has a price. */
export function toCompanions(rows: readonly UsedRow[], cut: Cut): ReadonlyMap<string, Companion> {
  const byGroup = Map.groupBy(rows, (row) => toRowGroup(row, cut));
  return new Map([...byGroup].map(([id, own]) => [id, toCompanion(own, cut)]));
}

function toCompanion(rows: readonly UsedRow[], { by }: Cut): Companion {
  const byName = Map.groupBy(rows, ({ provider, model }) => (by === "model" ? provider : model));
  const [first, ...others] = [...byName]
    .map(([name, own]) => ({
      name,
      cost: sum(own.map(({ cost }) => cost ?? 0)),
      requests: sum(own.map(({ requests }) => requests)),
    }))
    .toSorted(
      (left, right) =>
        right.cost - left.cost || right.requests - left.requests || (left.name < right.name ? -1 : 1),
    );
  return { name: first?.name ?? "", moreCount: others.length };
}

function toRowGroup(row: UsedRow, { by, tagKey }: Cut): string {
  if (by !== "app" && by !== "tag") return toGroupId(row[by]);
  const prefix = `${by === "app" ? "app" : tagKey}:`;
  return row.tags.find((tag) => tag.startsWith(prefix))?.slice(prefix.length) ?? NONE_ID;
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
