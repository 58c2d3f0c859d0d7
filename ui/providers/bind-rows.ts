import {
  CAPABILITIES_DEFAULT,
  type Capability,
  guessByName,
  isServable,
  type CapabilityGuess,
  type ModelKind,
} from "#catalog/capability.ts";
import { ALIAS_PATTERN } from "#kernel/text.ts";
import type { DiscoveredModels, ModelDraft } from "../api/catalog.ts";
import {
  NO_PRICES,
  toPricing,
  type PriceFields,
  type Prices,
  type PriceVariants,
} from "../catalog/price-set.ts";

/** A model of a provider that is bound, or could be. */
export interface BindRow {
  readonly upstreamName: string;
  /** The model that it is bound as; null when none is. */
  readonly boundAlias: string | null;
  /** Chosen to be bound. */
  readonly isTicked: boolean;
  readonly alias: string;
  /** What it is taken for; only a guess until it is bound. */
  readonly kind: ModelKind;
  /** Whether it is ticked with all others: what no endpoint serves is bound only when it is ticked by itself. */
  readonly isOffered: boolean;
  readonly capabilities: readonly Capability[];
  readonly prices: PriceFields;
  /** Those of the list that the prices were filled in from; a price that is typed is no list's. */
  readonly variants: PriceVariants;
  /** Why the last try failed. */
  readonly failure: Error | null;
  /** Written here: the provider did not list it. */
  readonly isByHand: boolean;
}

/** By upstream name, in the order in which they are listed. */
export type BindRows = ReadonlyMap<string, BindRow>;

export type BindAction =
  | { readonly kind: "tick"; readonly upstreamNames: readonly string[]; readonly isTicked: boolean }
  | {
      readonly kind: "edit";
      readonly upstreamName: string;
      readonly change: Partial<Pick<BindRow, "alias" | "capabilities" | "prices">>;
    }
  | { readonly kind: "add"; readonly upstreamName: string }
  /** Prices and variants by upstream name, for rows in which none is typed; it ticks nothing. */
  | {
      readonly kind: "fill";
      readonly prices: ReadonlyMap<string, Prices>;
      readonly variants: ReadonlyMap<string, PriceVariants>;
    }
  | { readonly kind: "bound"; readonly upstreamName: string; readonly alias: string }
  | { readonly kind: "failed"; readonly upstreamName: string; readonly failure: Error };

/** Nothing is chosen at first: a provider may list hundreds. */
export function toBindRows(discovered: DiscoveredModels["models"]): BindRows {
  return new Map(
    discovered.map(({ upstream_name: upstreamName, bound_alias: boundAlias, kind, capabilities }) => {
      const named = toNewRow(upstreamName);
      const row =
        kind === undefined ? named : { ...named, kind, ...toProposed({ capabilities: capabilities ?? [] }) };
      return [upstreamName, { ...row, boundAlias }];
    }),
  );
}

export function changeBindRows(rows: BindRows, action: BindAction): BindRows {
  const next = new Map(rows);
  if (action.kind === "tick") {
    for (const name of action.upstreamNames) {
      const row = rows.get(name);
      if (row !== undefined && row.boundAlias === null) next.set(name, { ...row, isTicked: action.isTicked });
    }
    return next;
  }
  if (action.kind === "fill") {
    for (const row of rows.values()) {
      const prices = action.prices.get(row.upstreamName);
      if (prices !== undefined && canFill(row))
        next.set(row.upstreamName, {
          ...row,
          prices: toPricing(prices),
          variants: action.variants.get(row.upstreamName) ?? [],
        });
    }
    return next;
  }
  const { upstreamName } = action;
  if (action.kind === "add") {
    // First, where it is seen.
    const added = {
      ...(rows.get(upstreamName) ?? { ...toNewRow(upstreamName), isByHand: true }),
      isTicked: true,
    };
    next.delete(upstreamName);
    return new Map([[upstreamName, added], ...next]);
  }
  const row = rows.get(upstreamName);
  if (row === undefined) return rows;
  switch (action.kind) {
    case "edit":
      return next.set(upstreamName, {
        ...row,
        ...("prices" in action.change && { variants: [] }),
        ...action.change,
        isTicked: true,
        failure: null,
      });
    case "bound":
      return next.set(upstreamName, { ...row, boundAlias: action.alias, isTicked: false, failure: null });
    default:
      return next.set(upstreamName, { ...row, failure: action.failure });
  }
}

/** Whether no price was typed that would be lost. */
export function canFill({ boundAlias, prices }: BindRow): boolean {
  return boundAlias === null && Object.keys(toPricing(prices)).length === 0;
}

export function toDraft(provider: string, row: BindRow): ModelDraft {
  const pricing = toPricing(row.prices);
  return {
    alias: row.alias.trim(),
    provider,
    upstream_name: row.upstreamName,
    capabilities: [...row.capabilities],
    origin: row.isByHand ? "declared" : "discovered",
    ...(Object.keys(pricing).length > 0 && { pricing }),
    ...(row.variants.length > 0 && { price_variants: [...row.variants] }),
  };
}

/** The upstream name itself where it may be an alias; else what is left of it. */
function toAlias(upstreamName: string): string {
  if (ALIAS_PATTERN.test(upstreamName)) return upstreamName;
  return upstreamName.replace(/[^A-Za-z0-9._:/-]+/gu, "-").replace(/^[^A-Za-z0-9]+/u, "");
}

/** Bound in spite of the guess, a model is one for chat unless something else is chosen. */
function toProposed(
  guess: Pick<CapabilityGuess, "capabilities">,
): Pick<BindRow, "isOffered" | "capabilities"> {
  const isOffered = isServable(guess);
  return { isOffered, capabilities: isOffered ? guess.capabilities : CAPABILITIES_DEFAULT };
}

function toNewRow(upstreamName: string): BindRow {
  const guess = guessByName(upstreamName);
  return {
    upstreamName,
    boundAlias: null,
    isTicked: false,
    alias: toAlias(upstreamName),
    kind: guess.kind,
    ...toProposed(guess),
    prices: NO_PRICES,
    variants: [],
    failure: null,
    isByHand: false,
  };
}
