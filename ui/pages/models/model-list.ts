import type { ListedModel } from "../../api/models.ts";
import type { ReportNotes, TeamUsageRow } from "../../api/reports.ts";
import type { ModelsSearch } from "../../search/pages.ts";

/** Whether a model is what the address asks for: the text in its name, target or provider, and the capability. */
export function matchesModel(model: ListedModel, { q, capability }: ModelsSearch): boolean {
  if (capability !== undefined && !model.capabilities.includes(capability)) return false;
  if (q === undefined) return true;
  const text = q.trim().toLowerCase();
  return [model.id, model.alias_of ?? "", model.owned_by].some((name) => name.toLowerCase().includes(text));
}

/** Requests by the name that was asked for. */
export interface RequestCounts {
  /** Undefined until it is known. */
  readonly byModel: ReadonlyMap<string, number> | undefined;
  readonly largest: number;
  /** Rare rows were left out: each number may be too low. */
  readonly isTruncated: boolean;
  readonly isFailed: boolean;
}

export interface CountedUsage {
  readonly usage: readonly Pick<TeamUsageRow, "model" | "requests">[];
  readonly notes: ReportNotes;
}

export function toRequestCounts(summary: CountedUsage | undefined, isFailed: boolean): RequestCounts {
  if (summary === undefined) return { byModel: undefined, largest: 0, isTruncated: false, isFailed };
  const byModel = new Map<string, number>();
  for (const { model, requests } of summary.usage) {
    byModel.set(model, (byModel.get(model) ?? 0) + requests);
  }
  const largest = Math.max(0, ...byModel.values());
  return { byModel, largest, isTruncated: summary.notes.isTruncated, isFailed };
}

/** Undefined until it is known; a model that nobody asked for has 0. */
export function toRequestCount({ byModel }: RequestCounts, model: string): number | undefined {
  return byModel === undefined ? undefined : (byModel.get(model) ?? 0);
}

/** By model the names that lead to it. */
export function toNames(models: readonly ListedModel[]): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, readonly string[]>();
  for (const { id, alias_of: target } of models) {
    if (target !== null) names.set(target, [...(names.get(target) ?? []), id]);
  }
  return names;
}
