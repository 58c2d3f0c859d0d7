import { compareCodeUnits } from "#kernel/text.ts";
import { toProviderName } from "./grouping.ts";
import { FACET_NAMES, type FacetName, type Facets, type ReportContext, type ReportNotes } from "./store.ts";

/** Values of one facet (specification, section 8). */
export const FACET_VALUES_MAX = 500;

/** How many requests in the window have one value. */
export interface FacetUse {
  readonly value: string;
  readonly requests: number;
}

export interface KeyUse extends FacetUse {
  /** The name under which the key was used most. */
  readonly principal: string;
}

/** The values of each facet: at least the most used ones, one more than are shown. Providers are all there, by id. */
export type FacetUses = { readonly [facet in Exclude<FacetName, "keys">]: readonly FacetUse[] } & {
  readonly keys: readonly KeyUse[];
};

/** The distinct values of each facet and their counts, sorted by code unit; when there are too many, the most used of them. */
export function toFacets(uses: FacetUses, context: ReportContext): Omit<Facets, keyof ReportNotes> {
  const namesOfKeys = new Map(uses.keys.map(({ value, principal }) => [value, principal]));
  const named = uses.providers.map((use) => ({ ...use, value: toProviderName(use.value, context) }));
  const chosen = ofEach((facet) => choose(facet === "providers" ? named : uses[facet]));
  const { keys, ...values } = ofEach((facet) => chosen[facet].values);
  return {
    ...values,
    keyIds: keys.map((id) => ({ id, principal: namesOfKeys.get(id) ?? "" })),
    counts: ofEach((facet) => chosen[facet].counts),
    cut: ofEach((facet) => chosen[facet].isCut),
  };
}

interface Chosen {
  readonly values: readonly string[];
  /** Requests of each value, in the same order. */
  readonly counts: readonly number[];
  readonly isCut: boolean;
}

function choose(found: readonly FacetUse[]): Chosen {
  const uses = new Map<string, number>();
  for (const { value, requests } of found) uses.set(value, (uses.get(value) ?? 0) + requests);
  const isCut = uses.size > FACET_VALUES_MAX;
  const chosen = isCut ? byUse(uses).slice(0, FACET_VALUES_MAX) : [...uses.keys()];
  const values = chosen.sort(compareCodeUnits);
  return { values, counts: values.map((value) => uses.get(value) ?? 0), isCut };
}

function byUse(uses: ReadonlyMap<string, number>): string[] {
  return [...uses]
    .sort(([left, more], [right, less]) => less - more || compareCodeUnits(left, right))
    .map(([value]) => value);
}

function ofEach<Told>(tell: (facet: FacetName) => Told): { readonly [facet in FacetName]: Told };
function ofEach(tell: (facet: FacetName) => unknown): object {
  return Object.fromEntries(FACET_NAMES.map((facet) => [facet, tell(facet)]));
}
