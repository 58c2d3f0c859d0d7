import { ProxyError } from "#kernel/errors.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import { findUnitPrice, isReportUnit, type Pico, REPORT_UNITS, UNIT_TABLE, UNITS } from "#kernel/units.ts";
import type { BilledDay, BilledUnit, StatsStore } from "#stats/store.ts";
import type { Script } from "#storage/sql/script.ts";
import { priceQuantity, toUnpricedReason } from "#usage/cost.ts";
import { type BilledSum, sumBilled } from "./billed-sums.ts";
import { foldBy } from "./folded-window.ts";
import { type GroupLabel, groupLabelSets, type LabelGroups } from "./label-groups.ts";
import { type ResolvedFilter, resolveFilter } from "./request-filter.ts";
import { SERIES_MEASURES, toSeriesFigures } from "./series-figures.ts";
import { SUMS_MAX } from "./series.ts";
import { BY_DAY, cutWindow, type LedgerEdges, readEdges, toRowsFrom } from "./window-cut.ts";

type DayQuery = Parameters<StatsStore["readBilledDay"]>[0];
type Labels = Pick<
  BilledUnit,
  "principalId" | "principal" | "keyId" | "providerId" | "model" | "upstreamName" | "tier" | "geo"
>;

const LABELS: readonly GroupLabel[] = [
  { label: "principal_id" },
  { label: "principal_name" },
  { label: "key_id" },
  { label: "provider_id" },
  { label: "model" },
  { label: "upstream_name" },
  { label: "tier" },
  { label: "geo" },
];

const NO_PRICE = "no price";
/** Stands in place of a unit and of a cost where retention has left nothing but totals. */
const ROWS_REMOVED = "rows removed by retention";
/** Stands in place of a unit for what recorded costs differ from their prices. */
const NOT_OF_A_UNIT = "cost of no single unit";

/**
 * `StatsStore.readBilledDay`: what each unit cost is read from rows, which keep their prices. A day of which retention has removed
 * rows has quantities without a cost, and the cost of all units together, from totals.
 */
export function* readBilledDay(query: DayQuery, sumsMax = SUMS_MAX): Script<BilledDay> {
  const { sinceUs, untilUs } = query.window;
  const edges = yield* readEdges();
  if (edges === null || sinceUs === null || untilUs === null) return toDay([]);
  const filter = yield* resolveFilter(query);
  const groups = yield* groupLabelSets(filter, LABELS);
  const rowsFromUs = toRowsFrom(edges);
  const isRemoved = rowsFromUs > edges.firstUs && sinceUs < rowsFromUs;
  const rows = isRemoved
    ? yield* readTotals({ edges, filter, groups, query })
    : toUnits(
        yield* sumBilled({ ranges: [{ fromUs: sinceUs, toUs: untilUs }], units: UNITS, filter, groups }),
        groups,
      );
  if (rows.length <= sumsMax) return toDay(rows);
  throw new ProxyError(
    "range_too_large",
    `A day has ${rows.length} rows of models, units and keys, and ${sumsMax} at most are put together.`,
    { param: "month" },
  );
}

function toDay(rows: readonly BilledUnit[]): BilledDay {
  const keyed = rows.map((row) => ({ row, key: JSON.stringify(Object.values(row).map(String)) }));
  keyed.sort((left, right) => compareCodeUnits(left.key, right.key));
  return { rows: keyed.map(({ row }) => row), truncated: false, snapped: null };
}

function toLabels(groups: LabelGroups, group: number): Labels {
  const [principalId, principal, keyId, providerId, model, upstreamName, tier, geo] =
    groups.values[group] ?? [];
  return {
    principalId: principalId ?? "",
    principal: principal ?? "",
    keyId: keyId ?? null,
    providerId: providerId ?? "",
    model: model ?? null,
    upstreamName: upstreamName ?? null,
    tier: tier ?? null,
    geo: geo ?? null,
  };
}

/** Puts sums of several price sets together: one row for what has a cost, and one for each reason why the rest has none. */
function toUnits(sums: readonly BilledSum[], groups: LabelGroups): readonly BilledUnit[] {
  const rows = new Map<string, BilledUnit>();
  for (const sum of sums) {
    for (const part of toParts(sum, toLabels(groups, sum.group))) {
      const key = `${sum.group} ${part.unit} ${part.reason}`;
      const known = rows.get(key);
      rows.set(key, known === undefined ? part : addUnit(known, part));
    }
  }
  return [...rows.values()];
}

function addUnit(known: BilledUnit, part: BilledUnit): BilledUnit {
  return {
    ...known,
    quantity: known.quantity === null ? null : known.quantity + (part.quantity ?? 0),
    pricePico: known.pricePico === part.pricePico ? known.pricePico : null,
    costPico: known.costPico === null ? null : known.costPico + (part.costPico ?? 0n),
  };
}

/** What was billed at one set of prices, by unit. */
function toParts({ prices, quantities, costPico }: BilledSum, labels: Labels): readonly BilledUnit[] {
  const { tier, geo } = labels;
  const parts = UNITS.flatMap((unit): BilledUnit[] => {
    const quantity = quantities[unit] ?? 0;
    if (quantity === 0) return [];
    const pricePico = findUnitPrice(prices, unit);
    if (pricePico === null) {
      const reason = toUnpricedReason({ tier: tier ?? undefined, geo: geo ?? undefined, prices }) ?? NO_PRICE;
      return [{ ...labels, unit, quantity, pricePico, costPico: null, reason }];
    }
    return [
      { ...labels, unit, quantity, pricePico, costPico: priceQuantity(quantity, pricePico), reason: null },
    ];
  });
  const rest = costPico - parts.reduce((sum, part) => sum + (part.costPico ?? 0n), 0n);
  return rest === 0n ? parts : withRest(parts, rest, labels);
}

/** Fractions of a unit are rounded request by request, which their sum does not tell: the cost that was recorded holds. */
function withRest(parts: readonly BilledUnit[], rest: Pico, labels: Labels): readonly BilledUnit[] {
  const fractional = parts.find(({ unit, costPico }) => costPico !== null && isFractional(unit));
  if (fractional !== undefined)
    return parts.map((part) =>
      part === fractional ? { ...part, costPico: (part.costPico ?? 0n) + rest } : part,
    );
  const row = { unit: null, quantity: null, pricePico: null, costPico: rest, reason: NOT_OF_A_UNIT };
  return [...parts, { ...labels, ...row }];
}

function isFractional(unit: BilledUnit["unit"]): boolean {
  return unit !== null && isReportUnit(unit) && UNIT_TABLE[unit].scale !== 1;
}

interface RemovedDay {
  readonly edges: LedgerEdges;
  readonly filter: ResolvedFilter;
  readonly groups: LabelGroups;
  readonly query: DayQuery;
}

function* readTotals({ edges, filter, groups, query }: RemovedDay): Script<readonly BilledUnit[]> {
  const cut = cutWindow(edges, query.window, BY_DAY);
  const fold = yield* foldBy({ cut, filter, groups }, SERIES_MEASURES);
  return [...Map.groupBy(fold.sums(), ({ group }) => group)].flatMap(([group, sums]): BilledUnit[] => {
    const labels = toLabels(groups, group);
    const { costPico, units } = toSeriesFigures(sums);
    const told = { ...labels, pricePico: null, reason: ROWS_REMOVED };
    const rows = REPORT_UNITS.flatMap((unit): BilledUnit[] => {
      const quantity = units[unit] ?? 0;
      return quantity === 0 ? [] : [{ ...told, unit, quantity, costPico: null }];
    });
    if (costPico !== null) rows.push({ ...told, unit: null, quantity: null, costPico });
    return rows;
  });
}
