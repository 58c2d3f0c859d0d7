import type { Unit } from "#kernel/units.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import type { Model, Pricing } from "../../../api/catalog.ts";
import type { TeamUsageRow } from "../../../api/reports.ts";
import type { NameKind } from "./kind-badge.tsx";

export type KeptPrice = Pricing["entries"][number];

/** The prices that are kept under one name. */
export interface NamePrices {
  readonly name: string;
  readonly prices: { readonly [unit in Unit]?: KeptPrice };
  /** What they came from, once each; null stands for a write with the model. */
  readonly versions: readonly (string | null)[];
  readonly kind: NameKind;
}

/** One row for each name, in the order of the entries. */
export function toNamePrices(
  entries: Pricing["entries"],
  models: readonly Model[],
  usage: readonly TeamUsageRow[],
): readonly NamePrices[] {
  const aliases = new Set(models.map(({ alias }) => alias));
  const upstreamNames = new Set(models.map(({ upstream_name: name }) => name));
  const relayed = new Set(
    usage.flatMap(({ model, provider }) => (provider === RELAY_PROVIDER ? [model] : [])),
  );
  const toKind = (name: string): NameKind => {
    if (aliases.has(name)) return "model";
    if (upstreamNames.has(name)) return "upstream";
    return relayed.has(name) ? "relay" : "gone";
  };
  const byName = new Map<string, KeptPrice[]>();
  for (const entry of entries) {
    const known = byName.get(entry.model);
    if (known === undefined) byName.set(entry.model, [entry]);
    else known.push(entry);
  }
  return [...byName].map(([name, kept]) => ({
    name,
    prices: Object.fromEntries(kept.map((price) => [price.unit, price])),
    versions: [...new Set(kept.map(({ version }) => version))],
    kind: toKind(name),
  }));
}

/** By part of the name or of a feed's version, whatever the case. */
export function matchesPrices({ name, versions }: NamePrices, query: string | undefined): boolean {
  if (query === undefined) return true;
  const wanted = query.toLowerCase();
  return [name, ...versions].some((text) => text?.toLowerCase().includes(wanted) === true);
}
