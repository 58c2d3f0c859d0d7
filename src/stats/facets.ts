import { compareCodeUnits } from "#kernel/text.ts";
import { toProviderName } from "./grouping.ts";
import { FACET_NAMES, type FacetName, type Facets, type ReportContext, type ReportNotes } from "./store.ts";

/** Values of one facet (specification, section 8). */
export const FACET_VALUES_MAX = 500;

/** Requests in the window by value. */
export type Uses = Map<string, number>;

/** The values of each facet: at least the most used ones, one more than are shown. Providers are all there, by id. */
export interface FacetUses extends Readonly<Record<FacetName, ReadonlyMap<string, number>>> {
  /** By key the name under which it was used most. */
  readonly principalOf: ReadonlyMap<string, string>;
}

/** The distinct values of each facet and their counts, sorted by code unit; when there are too many, the most used of them. */
export function toFacets(uses: FacetUses, context: ReportContext): Omit<Facets, keyof ReportNotes> {
  const providers: Uses = new Map();
  for (const [id, requests] of uses.providers) addUse(providers, toProviderName(id, context), requests);
  const chosen = ofEach((facet) => choose(facet === "providers" ? providers : uses[facet]));
  const { keys, ...values } = ofEach((facet) => chosen[facet].values);
  return {
    ...values,
    keyIds: keys.map((id) => ({ id, principal: uses.principalOf.get(id) ?? "" })),
    counts: ofEach((facet) => chosen[facet].counts),
    cut: ofEach((facet) => chosen[facet].isCut),
  };
}

export function addUse(uses: Uses, value: string, requests: number): void {
  uses.set(value, (uses.get(value) ?? 0) + requests);
}

/** The most used first; of equals the first by code unit. */
export function byUse(uses: ReadonlyMap<string, number>): string[] {
  return [...uses]
    .sort(([left, more], [right, less]) => less - more || compareCodeUnits(left, right))
    .map(([value]) => value);
}

interface Chosen {
  readonly values: readonly string[];
  /** Requests of each value, in the same order. */
  readonly counts: readonly number[];
  readonly isCut: boolean;
}

function choose(uses: ReadonlyMap<string, number>): Chosen {
  const isCut = uses.size > FACET_VALUES_MAX;
  const chosen = isCut ? byUse(uses).slice(0, FACET_VALUES_MAX) : [...uses.keys()];
  const values = chosen.sort(compareCodeUnits);
  return { values, counts: values.map((value) => uses.get(value) ?? 0), isCut };
}

function ofEach<Told>(tell: (facet: FacetName) => Told): { readonly [facet in FacetName]: Told };
function ofEach(tell: (facet: FacetName) => unknown): object {
  return Object.fromEntries(FACET_NAMES.map((facet) => [facet, tell(facet)]));
}
