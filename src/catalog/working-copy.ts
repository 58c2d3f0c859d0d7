import { compareCodeUnits } from "#kernel/text.ts";
import { type Unit, UNITS } from "#kernel/units.ts";
import type { Model } from "./model.ts";
import { countPrices, createPriceBook, type PriceRow, type VariantRow } from "./pricing.ts";
import { resolveRow, type CatalogPicture, type ResolvedModel } from "./snapshot.ts";
import type { CatalogWrite } from "./store.ts";

/** A catalog in the middle of a change of many steps: each step is planned on what the steps before it have written. */
export interface WorkingCopy extends CatalogPicture {
  write(writes: readonly CatalogWrite[]): void;
  /** Every price that a step has put or, with null, deleted. */
  listWrittenPrices(): readonly WrittenPrice[];
  /** Every list of variants that a step has put or, with null, deleted. */
  listWrittenVariants(): readonly WrittenVariants[];
}

interface WrittenPrice {
  readonly name: string;
  readonly unit: Unit;
  readonly row: PriceRow | null;
}

interface WrittenVariants {
  readonly name: string;
  readonly row: VariantRow | null;
}

/**
 * Costs a step what the step touches: to make a snapshot after each of a thousand steps would take seconds. `models`,
 * `providers` and `prices` are put together each time that they are asked for.
 */
export function createWorkingCopy(from: CatalogPicture): WorkingCopy {
  const providers = new Map(from.providers.map((provider) => [provider.id, provider]));
  const providerIds = new Map(from.providers.map(({ id, name }) => [name, id]));
  const models = new Map<string, Model>();
  const modelIds = new Map<string, string>();
  const names = new Map<string, Set<string>>();
  /** Null is a price that a step deleted. */
  const written = new Map<string, { [unit in Unit]?: PriceRow | null }>();
  /** Null is a list that a step deleted. */
  const writtenVariants = new Map<string, VariantRow | null>();
  const schedules = new Map(from.schedules.map((schedule) => [schedule.id, schedule]));
  let scheduledCount = 0;
  let { feed, priceCount } = from;

  const findPrice = (name: string, unit: Unit): PriceRow | null => {
    const row = written.get(name)?.[unit];
    return row === undefined ? from.findPrice(name, unit) : row;
  };
  const findVariants = (name: string): VariantRow | null => {
    const row = writtenVariants.get(name);
    return row === undefined ? from.findVariants(name) : row;
  };
  const lookUp = {
    findRow: (id: string) => models.get(id),
    findProvider: (id: string) => providers.get(id),
    findPrice,
    findVariants,
  };
  const findModelById = (id: string | undefined): ResolvedModel | null => {
    const model = models.get(id ?? "");
    return model === undefined ? null : resolveRow(model, lookUp);
  };
  const listPrices = () => {
    const kept = from.prices.filter(({ name, unit }) => written.get(name)?.[unit] === undefined);
    const added = [...written.values()].flatMap((ofName) => UNITS.flatMap((unit) => ofName[unit] ?? []));
    return createPriceBook([...kept, ...added]).rows;
  };
  const setPrice = (name: string, unit: Unit, row: PriceRow | null): void => {
    priceCount += Number(row !== null) - Number(findPrice(name, unit) !== null);
    const ofName = written.get(name);
    if (ofName === undefined) written.set(name, { [unit]: row });
    else ofName[unit] = row;
  };
  const setVariants = (name: string, row: VariantRow | null): void => {
    priceCount += countPrices(row) - countPrices(findVariants(name));
    writtenVariants.set(name, row);
  };
  const forgetModel = (id: string): void => {
    const before = models.get(id);
    if (before === undefined) return;
    modelIds.delete(before.alias);
    if (before.route.kind === "name") names.get(before.route.targetId)?.delete(id);
    models.delete(id);
  };
  const putModel = (model: Model): void => {
    forgetModel(model.id);
    models.set(model.id, model);
    modelIds.set(model.alias, model.id);
    if (model.route.kind !== "name") return;
    const ofTarget = names.get(model.route.targetId) ?? new Set();
    names.set(model.route.targetId, ofTarget.add(model.id));
  };
  for (const { model } of from.models) putModel(model);

  const take = (write: CatalogWrite): void => {
    switch (write.kind) {
      case "put_provider":
        providers.set(write.provider.id, write.provider);
        providerIds.set(write.provider.name, write.provider.id);
        return;
      case "delete_provider":
        providerIds.delete(providers.get(write.id)?.name ?? "");
        providers.delete(write.id);
        return;
      case "put_model":
        putModel(write.model);
        return;
      case "delete_model":
        forgetModel(write.id);
        return;
      case "put_price":
        setPrice(write.price.name, write.price.unit, write.price);
        return;
      case "delete_price":
        setPrice(write.name, write.unit, null);
        return;
      case "put_variants":
        setVariants(write.list.name, write.list);
        return;
      case "delete_variants":
        setVariants(write.name, null);
        return;
      case "put_schedule":
        // A store numbers it; a number below zero is none of those that it has.
        scheduledCount += 1;
        schedules.set(-scheduledCount, { ...write.schedule, id: -scheduledCount });
        return;
      case "delete_schedule":
        schedules.delete(write.id);
        return;
      case "put_feed":
        feed = write.feed;
    }
  };

  return {
    get providers() {
      return [...providers.values()].toSorted((left, right) => compareCodeUnits(left.name, right.name));
    },
    get models() {
      return [...models.values()]
        .flatMap((model) => resolveRow(model, lookUp) ?? [])
        .toSorted((left, right) => compareCodeUnits(left.model.alias, right.model.alias));
    },
    get prices() {
      return listPrices();
    },
    get variantRows() {
      const kept = from.variantRows.filter(({ name }) => !writtenVariants.has(name));
      const added = [...writtenVariants.values()].flatMap((row) => row ?? []);
      return [...kept, ...added].toSorted((left, right) => compareCodeUnits(left.name, right.name));
    },
    get priceCount() {
      return priceCount;
    },
    get feed() {
      return feed;
    },
    get schedules() {
      return [...schedules.values()].toSorted((left, right) => left.atUs - right.atUs);
    },
    findProvider: (name) => providers.get(providerIds.get(name) ?? "") ?? null,
    findProviderById: (id) => providers.get(id) ?? null,
    findModel: (alias) => findModelById(modelIds.get(alias)),
    findModelById,
    namesFor: (id) =>
      [...(names.get(id) ?? [])]
        .flatMap((nameId) => models.get(nameId) ?? [])
        .toSorted((left, right) => compareCodeUnits(left.alias, right.alias)),
    findPrice,
    findVariants,
    listWrittenVariants: () => [...writtenVariants].map(([name, row]) => ({ name, row })),
    listWrittenPrices: () =>
      [...written].flatMap(([name, ofName]) =>
        UNITS.flatMap((unit): WrittenPrice[] => {
          const row = ofName[unit];
          return row === undefined ? [] : [{ name, unit, row }];
        }),
      ),
    write: (writes) => writes.forEach(take),
  };
}
