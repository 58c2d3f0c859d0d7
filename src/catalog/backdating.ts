import type { InstantUs } from "#kernel/clock.ts";
import { type Unit, UNITS } from "#kernel/units.ts";
import type {
  Backdating,
  BegunPrice,
  HeldPrice,
  KnownPrice,
  PriceStamp,
  RepricedSpan,
} from "./held-price.ts";
import {
  type InheritancePast,
  listLookedUp,
  type PriceInheritance,
  toInheritance,
} from "./price-inheritance.ts";
import { isSamePrice, type PriceSheet, readSheets, type SheetPrice, toSheet } from "./price-sheet.ts";
import type { CatalogPicture } from "./snapshot.ts";
import { toPriceKey } from "./variant-list.ts";

/**
 * Prices that are dated back change the history of each name at the moments at which its prices were looked for under theirs: it
 * goes by what the name inherited then, and not by what it inherits now.
 */

/** The past of the names whose prices may have been those that are dated back. */
export interface KnownPast {
  readonly inheritance: InheritancePast;
  /** The prices that count and held at the first of the dates or later, by name. */
  readonly prices: ReadonlyMap<string, readonly KnownPrice[]>;
}

/** The steps that lead from a history to the one of prices that were written on their dates. */
export interface HistoryCorrection {
  /** All steps of these names are here, also those of the change itself. */
  readonly names: ReadonlySet<string>;
  readonly cut: readonly CutPrice[];
  readonly begun: readonly CorrectedPrice[];
  readonly inherited: readonly PriceInheritance[];
}

/** A price that is there already becomes its first part. */
export type CutPrice = Pick<KnownPrice, "id" | "untilUs" | "supersededUs">;
export type CorrectedPrice = BegunPrice & Partial<Pick<HeldPrice, "untilUs" | "supersededUs">>;

interface DatedChange {
  readonly backdated: readonly Backdating[];
  readonly known: KnownPast;
  readonly stamp: PriceStamp;
  readonly atUs: InstantUs;
}

export function planCorrection(
  after: CatalogPicture,
  { backdated, known, stamp, atUs }: DatedChange,
): HistoryCorrection {
  const dates = new PriceDates(backdated, { inheritance: known.inheritance, untilUs: atUs });
  const rewriting = new Rewriting(after, { known, dates, stamp, atUs });
  const names = dates.listReached();
  const sheets = readSheets(after, names, stamp);
  const steps = names.map((name) =>
    comparePast(known.prices.get(name) ?? [], rewriting.read(name, sheets.get(name) ?? new Map()), atUs),
  );
  return {
    names: new Set(names),
    cut: steps.flatMap(({ cut }) => cut),
    // What was superseded comes before what takes its place.
    begun: [...steps.flatMap(({ kept }) => kept), ...steps.flatMap(({ begun }) => begun)],
    inherited: dates.names.flatMap((name) => rewriting.listInheritance(name)),
  };
}

/** The times in which prices that are dated back were those of a name, or would have been. */
export function listRepriced(
  backdated: readonly Backdating[],
  past: { readonly inheritance: InheritancePast; readonly untilUs: InstantUs },
): readonly RepricedSpan[] {
  const dates = new PriceDates(backdated, past);
  return dates.listReached().flatMap((name) => dates.listRepriced(name));
}

/** A unit, or the list of variants, which is inherited whole. */
type Part = Unit | "variants";
const PARTS: readonly Part[] = [...UNITS, "variants"];

/** The time in which prices that are dated back were those of a name itself. */
interface DatedSpan {
  readonly name: string;
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs;
  readonly of: Backdating;
}

class PriceDates {
  readonly #inheritance: InheritancePast;
  readonly #untilUs: InstantUs;
  readonly #spans: ReadonlyMap<string, readonly DatedSpan[]>;

  /** Dates that are not before `untilUs` are none. */
  constructor(
    backdated: readonly Backdating[],
    { inheritance, untilUs }: { readonly inheritance: InheritancePast; readonly untilUs: InstantUs },
  ) {
    this.#inheritance = inheritance;
    this.#untilUs = untilUs;
    const spans = backdated.flatMap((of) => {
      const named =
        of.modelId === undefined
          ? [{ name: of.name, fromUs: of.fromUs, untilUs: Infinity }]
          : inheritance.namesOf(of.modelId);
      return named.map(({ name, fromUs, untilUs: endUs }): DatedSpan => {
        return { name, fromUs: Math.max(fromUs, of.fromUs), untilUs: endUs, of };
      });
    });
    this.#spans = Map.groupBy(
      spans.filter((span) => span.fromUs < Math.min(span.untilUs, untilUs)),
      ({ name }) => name,
    );
  }

  get names(): readonly string[] {
    return [...this.#spans.keys()];
  }

  /** The names whose prices were looked for under a dated one at some time, themselves included. */
  listReached(): readonly string[] {
    const reached = new Set(this.names);
    for (const name of this.#inheritance.names)
      if (this.#listEverLookedUp(name).some((each) => this.#spans.has(each))) reached.add(name);
    return [...reached];
  }

  spansAt(name: string, atUs: InstantUs): readonly DatedSpan[] {
    return (this.#spans.get(name) ?? []).filter(({ fromUs, untilUs }) => fromUs <= atUs && atUs < untilUs);
  }

  findSpan(name: string, part: Part, atUs: InstantUs): DatedSpan | undefined {
    return this.spansAt(name, atUs).find(({ of }) =>
      part === "variants" ? of.hasVariants : of.covers(part, null),
    );
  }

  /** The moments from the first date of a name on at which what it inherits may have changed, in order. */
  listMoments(name: string, prices: KnownPast["prices"] = new Map()): readonly InstantUs[] {
    const names = this.#listEverLookedUp(name);
    const spans = names.flatMap((each) => this.#spans.get(each) ?? []);
    const firstUs = Math.min(...spans.map(({ fromUs }) => fromUs));
    const changes = names.flatMap((each) => this.#inheritance.momentsOf(each));
    const held = names.flatMap((each) => prices.get(each) ?? []);
    const moments = new Set([
      ...[...spans, ...held].flatMap(({ fromUs, untilUs }) => [fromUs, untilUs ?? fromUs]),
      ...changes,
    ]);
    return [...moments]
      .filter((atUs) => firstUs <= atUs && atUs < this.#untilUs)
      .sort((one, other) => one - other);
  }

  listRepriced(name: string): readonly RepricedSpan[] {
    const moments = this.listMoments(name);
    const spans: RepricedSpan[] = [];
    for (const [at, fromUs] of moments.entries()) {
      const isDated = PARTS.some((part) => {
        const isOwn = (each: string) => hasOwn(this.#inheritance.at(each, fromUs), part);
        return this.lookUp(name, part, { atUs: fromUs, isOwn }).dated !== undefined;
      });
      if (!isDated) continue;
      const untilUs = moments[at + 1] ?? this.#untilUs;
      const last = spans.at(-1);
      if (last?.untilUs === fromUs) spans[spans.length - 1] = { ...last, untilUs };
      else spans.push({ name, fromUs, untilUs });
    }
    return spans;
  }

  /** Finds the name that has a part itself, and the dated one that was asked for it, be it that it had none. */
  lookUp(
    name: string,
    part: Part,
    { atUs, isOwn }: { readonly atUs: InstantUs; readonly isOwn: (name: string) => boolean },
  ): { readonly owner: string | undefined; readonly dated: DatedSpan | undefined } {
    const names = listNamesAt(this.#inheritance, name, atUs);
    const owner = names.find(isOwn);
    const asked = owner === undefined ? names : names.slice(0, names.indexOf(owner) + 1);
    const dated = asked.map((each) => this.findSpan(each, part, atUs)).find((span) => span !== undefined);
    return { owner, dated };
  }

  #listEverLookedUp(name: string): readonly string[] {
    return [...new Set([name, ...this.#inheritance.of(name).flatMap(listLookedUp)])];
  }
}

function listNamesAt(inheritance: InheritancePast, name: string, atUs: InstantUs): readonly string[] {
  const known = inheritance.at(name, atUs);
  return known === undefined ? [name] : listLookedUp(known);
}

function hasOwn(inheritance: PriceInheritance | undefined, part: Part): boolean {
  if (inheritance === undefined) return false;
  return part === "variants" ? inheritance.hasOwnVariants : inheritance.ownUnits.includes(part);
}

interface Rewritten extends Pick<DatedChange, "known" | "stamp" | "atUs"> {
  readonly dates: PriceDates;
}

/** A price of a moment, and whether it goes by a date. */
interface Cell {
  readonly price: SheetPrice;
  readonly isDated: boolean;
}

/** The time until the next stretch, in which a name has the same prices; that of the change itself has no end. */
interface Stretch {
  readonly fromUs: InstantUs;
  readonly untilUs: InstantUs | null;
  readonly cells: ReadonlyMap<string, Cell>;
}

/** What a name has itself after the change. */
interface WrittenOwn {
  readonly sheet: PriceSheet;
  readonly inheritance: PriceInheritance;
}

/** Reads the past as it is once the dated prices are in it. */
class Rewriting {
  readonly #of: Rewritten;
  readonly #written: (name: string) => WrittenOwn;

  constructor(after: CatalogPicture, of: Rewritten) {
    this.#of = of;
    const written = new Map<string, WrittenOwn>();
    this.#written = (name) =>
      written.getOrInsertComputed(name, () => ({
        sheet: toSheet(after, [name], of.stamp),
        inheritance: toInheritance(after, name, of.atUs),
      }));
  }

  /** `now` has the prices of the change itself. */
  read(name: string, now: PriceSheet): readonly Stretch[] {
    const { dates, known, atUs } = this.#of;
    const moments = dates.listMoments(name, known.prices);
    const past = moments.map((fromUs, at) => ({
      fromUs,
      untilUs: moments[at + 1] ?? atUs,
      cells: this.#readCells(name, fromUs),
    }));
    const isDated = (price: SheetPrice) => this.#lookUp(name, toPart(price), atUs).dated !== undefined;
    const cells = [...now].map(([key, price]) => [key, { price, isDated: isDated(price) }] as const);
    return [...past, { fromUs: atUs, untilUs: null, cells: new Map(cells) }];
  }

  /** What a dated name had itself over time. */
  listInheritance(name: string): readonly PriceInheritance[] {
    const { dates, known } = this.#of;
    return dates.listMoments(name).flatMap((fromUs) => {
      const was = known.inheritance.at(name, fromUs) ?? toUnknown(name);
      const is = {
        ...was,
        fromUs,
        ownUnits: UNITS.filter((unit) => this.#isOwn(name, unit, fromUs)),
        hasOwnVariants: this.#isOwn(name, "variants", fromUs),
      };
      return Bun.deepEquals({ ...was, fromUs }, is, true) ? [] : [is];
    });
  }

  #readCells(name: string, atUs: InstantUs): Stretch["cells"] {
    const held = this.#readHeld(name, atUs);
    const cells = PARTS.flatMap((part) => {
      const { owner, dated } = this.#lookUp(name, part, atUs);
      const isDated = dated !== undefined;
      const inherited = () => (owner === undefined ? [] : this.#readOwn(owner, atUs));
      return (isDated ? inherited() : held)
        .filter((price) => toPart(price) === part)
        .map(
          (price) => [toPriceKey(price.unit, price.when), { price: { ...price, name }, isDated }] as const,
        );
    });
    return new Map(cells);
  }

  /** The prices that are of the name itself: those that are dated back, and what it had beside them. */
  #readOwn(name: string, atUs: InstantUs): readonly SheetPrice[] {
    const { dates, known } = this.#of;
    const spans = dates.spansAt(name, atUs);
    const findSpan = ({ unit, when }: SheetPrice) => spans.find(({ of }) => of.covers(unit, when));
    const inheritance = known.inheritance.at(name, atUs);
    return [
      ...this.#readHeld(name, atUs).filter(
        (price) => hasOwn(inheritance, toPart(price)) && findSpan(price) === undefined,
      ),
      ...spans.flatMap((span) =>
        [...this.#written(span.of.name).sheet.values()].filter((price) => findSpan(price) === span),
      ),
    ];
  }

  #readHeld(name: string, atUs: InstantUs): readonly KnownPrice[] {
    return (this.#of.known.prices.get(name) ?? []).filter((price) => holdsAt(price, atUs));
  }

  #lookUp(name: string, part: Part, atUs: InstantUs) {
    return this.#of.dates.lookUp(name, part, { atUs, isOwn: (each) => this.#isOwn(each, part, atUs) });
  }

  #isOwn(name: string, part: Part, atUs: InstantUs): boolean {
    const span = this.#of.dates.findSpan(name, part, atUs);
    return hasOwn(
      span === undefined
        ? this.#of.known.inheritance.at(name, atUs)
        : this.#written(span.of.name).inheritance,
      part,
    );
  }
}

function toUnknown(name: string): PriceInheritance {
  return {
    name,
    fromUs: 0,
    modelId: null,
    bound: null,
    upstream: null,
    ownUnits: [],
    hasOwnVariants: false,
  };
}

function toPart({ unit, when }: Pick<SheetPrice, "unit" | "when">): Part {
  return when === null ? unit : "variants";
}

interface PastSteps {
  readonly cut: readonly CutPrice[];
  /** Further parts of prices that were there. */
  readonly kept: readonly CorrectedPrice[];
  readonly begun: readonly CorrectedPrice[];
}

/** The steps that lead from the prices of a name to those of the stretches. */
function comparePast(
  known: readonly KnownPrice[],
  stretches: readonly Stretch[],
  atUs: InstantUs,
): PastSteps {
  const [cut, kept, begun]: [CutPrice[], CorrectedPrice[], CorrectedPrice[]] = [[], [], []];
  const rows = Map.groupBy(known, ({ unit, when }) => toPriceKey(unit, when));
  const keys = new Set([...rows.keys(), ...stretches.flatMap(({ cells }) => [...cells.keys()])]);
  for (const key of keys) {
    const ofKey = rows.get(key) ?? [];
    const runs = toRuns(key, stretches, ofKey);
    for (const { cell, fromUs, untilUs, isChanged } of runs)
      if (cell !== undefined && isChanged) begun.push({ ...cell.price, fromUs, untilUs });
    for (const row of ofKey) {
      const gone = { fromUs: row.fromUs, untilUs: atUs, supersededUs: atUs };
      const [first = gone, ...rest] = toParts(row, runs, atUs);
      const { untilUs, supersededUs } = first;
      if (untilUs !== row.untilUs || supersededUs !== null) cut.push({ id: row.id, untilUs, supersededUs });
      for (const part of rest) kept.push({ ...row, ...part });
    }
  }
  return { cut, kept, begun };
}

/** Stretches that follow one another with the same price, or none. */
interface Run extends Omit<Stretch, "cells"> {
  readonly cell: Cell | undefined;
  /** True where another price, or none, is known for a part of it. */
  readonly isChanged: boolean;
}

function toRuns(key: string, stretches: readonly Stretch[], known: readonly KnownPrice[]): readonly Run[] {
  const runs: Run[] = [];
  for (const { fromUs, untilUs, cells } of stretches) {
    const cell = cells.get(key);
    const isChanged = !isSamePrice(
      cell?.price,
      known.find((row) => holdsAt(row, fromUs)),
    );
    const last = runs.at(-1);
    const isSame = last?.cell?.isDated === cell?.isDated && isSamePrice(last?.cell?.price, cell?.price);
    if (last === undefined || !isSame) runs.push({ cell, fromUs, untilUs, isChanged });
    else runs[runs.length - 1] = { ...last, untilUs, isChanged: last.isChanged || isChanged };
  }
  return runs;
}

function holdsAt({ fromUs, untilUs }: HeldPrice, atUs: InstantUs): boolean {
  return fromUs <= atUs && (untilUs === null || atUs < untilUs);
}

type RowPart = Pick<KnownPrice, "fromUs" | "untilUs"> & { readonly supersededUs: InstantUs | null };

/** The parts of a price that is there, in order: what runs have changed is superseded, and was known until the change. */
function toParts({ fromUs, untilUs }: KnownPrice, runs: readonly Run[], atUs: InstantUs): readonly RowPart[] {
  const before = { fromUs: -Infinity, untilUs: runs[0]?.fromUs ?? null, isChanged: false };
  const parts: RowPart[] = [];
  for (const run of [before, ...runs]) {
    const end = Math.min(untilUs ?? Infinity, run.untilUs ?? Infinity, run.isChanged ? atUs : Infinity);
    const part = {
      fromUs: Math.max(fromUs, run.fromUs),
      untilUs: end === Infinity ? null : end,
      supersededUs: run.isChanged ? atUs : null,
    };
    const last = parts.at(-1);
    if (part.fromUs >= end) continue;
    if (last?.supersededUs !== part.supersededUs) parts.push(part);
    else parts[parts.length - 1] = { ...part, fromUs: last.fromUs };
  }
  return parts;
}
