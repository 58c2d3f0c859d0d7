import type { InstantUs } from "#kernel/clock.ts";
import { type Unit, UNITS } from "#kernel/units.ts";
import type { CatalogPicture, ResolvedModel } from "./snapshot.ts";
import type { CatalogWrite } from "./store.ts";

/** What a name took its prices from, from a moment on and until the next one of the name. */
export interface PriceInheritance {
  readonly name: string;
  readonly fromUs: InstantUs;
  /** Null: the name was no model. */
  readonly modelId: string | null;
  /** The names that prices are looked for under, behind its own: the alias of the model that routes, and the upstream's name. */
  readonly bound: string | null;
  readonly upstream: string | null;
  /** The units that have a row of the name itself, be it the mark "no price". */
  readonly ownUnits: readonly Unit[];
  /** True where the name has a list of variants of its own, be it an empty one. */
  readonly hasOwnVariants: boolean;
}

export function toInheritance(picture: CatalogPicture, name: string, fromUs: InstantUs): PriceInheritance {
  const resolved = picture.findModel(name);
  return {
    name,
    fromUs,
    modelId: resolved?.model.id ?? null,
    bound: resolved?.bound.alias ?? null,
    upstream: resolved?.upstreamName ?? null,
    ownUnits: UNITS.filter((unit) => picture.findPrice(name, unit) !== null),
    hasOwnVariants: picture.findVariants(name) !== null,
  };
}

/** The names that prices are looked for under, the first first. */
export function listLookedUp({ name, bound, upstream }: PriceInheritance): readonly string[] {
  return [name, ...(bound === null ? [] : [bound]), ...(upstream === null ? [] : [upstream])];
}

export interface InheritanceChange {
  readonly writes: readonly CatalogWrite[];
  /** The models after it: a copy puts them together each time that it is asked for them. */
  readonly models: ReadonlyMap<string, ResolvedModel>;
  readonly atUs: InstantUs;
}

/** The names that take their prices from elsewhere once a change is made, or begin or cease to have some of their own. */
export function planInheritance(
  before: CatalogPicture,
  after: CatalogPicture,
  { writes, models, atUs }: InheritanceChange,
): readonly PriceInheritance[] {
  const names = new Set(writes.flatMap((write) => toWrittenName(write) ?? []));
  for (const was of before.models)
    if (!isSameRoute(was, models.get(was.model.alias))) names.add(was.model.alias);
  for (const alias of models.keys()) if (before.findModel(alias) === null) names.add(alias);
  const read = (picture: CatalogPicture) => readInheritance(picture, [...names], atUs);
  return findChanged(read(before), read(after));
}

export function readInheritance(
  picture: CatalogPicture,
  names: readonly string[],
  fromUs: InstantUs,
): readonly PriceInheritance[] {
  return names.map((name) => toInheritance(picture, name, fromUs));
}

/** Returns what differs in `after`. Both lists have the same names in the same order. */
export function findChanged(
  before: readonly PriceInheritance[],
  after: readonly PriceInheritance[],
): readonly PriceInheritance[] {
  return after.filter((is, at) => !Bun.deepEquals(is, before[at], true));
}

/** The name whose own prices a step writes. */
export function toWrittenName(write: CatalogWrite): string | null {
  switch (write.kind) {
    case "put_price":
      return write.price.name;
    case "put_variants":
      return write.list.name;
    case "delete_price":
    case "delete_variants":
      return write.name;
    default:
      return null;
  }
}

function isSameRoute(was: ResolvedModel, is: ResolvedModel | undefined): boolean {
  return (
    was.model.id === is?.model.id &&
    was.bound.alias === is.bound.alias &&
    was.upstreamName === is.upstreamName
  );
}

/** The aliases, and the names that have prices. */
export function listNames(picture: CatalogPicture): readonly string[] {
  const names = new Set([
    ...picture.models.map(({ model }) => model.alias),
    ...picture.prices.map(({ name }) => name),
    ...picture.variantRows.map(({ name }) => name),
  ]);
  return [...names];
}

/** What some names took their prices from over time. */
export class InheritancePast {
  readonly #byName: ReadonlyMap<string, readonly PriceInheritance[]>;

  /** A later one of the same name and moment takes the place of the one before it. */
  constructor(all: Iterable<PriceInheritance>) {
    const byName = new Map<string, Map<InstantUs, PriceInheritance>>();
    for (const each of all) byName.getOrInsertComputed(each.name, () => new Map()).set(each.fromUs, each);
    this.#byName = new Map(
      [...byName].map(([name, ofName]) => [
        name,
        [...ofName.values()].sort((one, other) => one.fromUs - other.fromUs),
      ]),
    );
  }

  get names(): Iterable<string> {
    return this.#byName.keys();
  }

  of(name: string): readonly PriceInheritance[] {
    return this.#byName.get(name) ?? [];
  }

  /** The moments of a name at which that changed. */
  momentsOf(name: string): readonly InstantUs[] {
    return this.of(name).map(({ fromUs }) => fromUs);
  }

  /** Before its first moment a name took what it took at first: its requests may be older, as those that were imported. */
  at(name: string, atUs: InstantUs): PriceInheritance | undefined {
    const ofName = this.of(name);
    return ofName.findLast(({ fromUs }) => fromUs <= atUs) ?? ofName[0];
  }

  /** The names that a model had, each with the time in which it had it: before all that is known, its first one was its. */
  namesOf(modelId: string): readonly NamedSpan[] {
    const spans = [...this.#byName.values()].flatMap((ofName) =>
      ofName.flatMap(({ name, fromUs, modelId: id }, at): readonly NamedSpan[] => {
        if (id !== modelId) return [];
        return [{ name, fromUs, untilUs: ofName[at + 1]?.fromUs ?? Infinity, isFirst: at === 0 }];
      }),
    );
    const [first, ...rest] = spans.sort((one, other) => one.fromUs - other.fromUs);
    return first?.isFirst === true ? [{ ...first, fromUs: -Infinity }, ...rest] : spans;
  }
}

interface NamedSpan {
  readonly name: string;
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
  /** True where nothing is known of the name before. */
  readonly isFirst: boolean;
}
