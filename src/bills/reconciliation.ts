import { DAY_US } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { STANDARD_TIER } from "#kernel/price-variants.ts";
import { compareCodeUnits } from "#kernel/text.ts";
import type { Pico, ReportUnit } from "#kernel/units.ts";
import {
  type Bill,
  type BilledUnit,
  BILLED_UNITS,
  type BillRow,
  type Day,
  TOOL_UNITS,
  type ToolUnit,
} from "./bill.ts";
import { type Grain, Grains, groupByModel, isRowOf, refuseToldTwice } from "./bill-grains.ts";
import {
  type Cell,
  ComparedCell,
  type LineKind,
  type Source,
  type Sum,
  type Told,
  type ToolUse,
  type UpstreamDay,
} from "./compared-cell.ts";
import { findReasons, findReportedReasons, type Reason } from "./reasons.ts";

/** Lines of one comparison: three megabytes of JSON. */
export const LINES_MAX = 10_000;

/** What one side says. Only measures that the bill tells are compared; the others are shown where they are known. */
export interface Side {
  readonly requests: number | null;
  readonly units: { readonly [unit in BilledUnit]?: number };
  /** Null where nothing was priced, and where the bill tells no cost. */
  readonly costPico: Pico | null;
}

/** The ledger's side, with what may explain a difference. */
export interface LedgerSide extends Side {
  readonly requests: number;
  readonly unpricedRequests: number;
  /** Cancelled and failed requests, and answers, that told no usage. */
  readonly unmeteredRequests: number;
}

export interface Line {
  readonly comparedWith: Source;
  readonly day: Day;
  /** Null where the bill does not tell models apart. */
  readonly model: string | null;
  /** The bill's names for it, where they are others. */
  readonly billedAs: readonly string[];
  /** `standard` for the standard one; null where the bill does not tell tiers apart. */
  readonly tier: string | null;
  readonly kind: LineKind;
  /** Null where there is nothing. */
  readonly here: LedgerSide | null;
  readonly there: Side | null;
  readonly reasons: readonly Reason[];
}

export interface Reconciliation {
  readonly lines: readonly Line[];
  readonly counts: { readonly [kind in LineKind]: number };
  /** True when each line is equal or within. */
  readonly agrees: boolean;
  /** The costs of the lines whose costs are compared with a bill's, each once. */
  readonly total: Total;
}

interface Total {
  /** Null where nothing was priced. */
  readonly here: Pico | null;
  /** Null where no bill tells a cost. */
  readonly there: Pico | null;
}

/** Bills of one vendor, and what the ledger has of its requests in their days. */
export interface Billed {
  readonly bills: readonly Bill[];
  readonly ledger: readonly UpstreamDay[];
}

/**
 * Holds bills against the ledger by day, upstream model and tier, as far as the bills tell these apart of each model: costs
 * without tiers are compared with the sum of them, beside usage that is compared by tier. Costs that answers told are lines of
 * their own where they differ by more than 1 %. Throws what `refuseToldTwice` throws, and `range_too_large` for more than `LINES_MAX` lines.
 */
export function reconcile(parts: readonly Billed[]): Reconciliation {
  for (const { bills } of parts) refuseToldTwice(bills);
  const billed = parts.flatMap(({ bills, ledger }) =>
    [...groupByModel(bills)].flatMap(([isByModel, ofKind]) => compareBills(ofKind, { ledger, isByModel })),
  );
  const lines = [
    ...billed.map(({ compared, reasons }) => toLine(compared, reasons)),
    ...parts.flatMap(({ bills, ledger }) => compareReported(bills, ledger)),
  ].sort(byPlace);
  if (lines.length > LINES_MAX)
    throw new ProxyError(
      "range_too_large",
      `The comparison has ${lines.length} lines, and ${LINES_MAX} are answered at most: choose fewer days with since and until.`,
      { param: "since" },
    );
  const countOf = (kind: LineKind) => lines.filter((line) => line.kind === kind).length;
  const counts = {
    equal: countOf("equal"),
    within: countOf("within"),
    lockport_more: countOf("lockport_more"),
    bill_more: countOf("bill_more"),
    only_here: countOf("only_here"),
    only_there: countOf("only_there"),
  };
  const total = toTotal(billed.map(({ compared }) => compared.cell));
  return { lines, counts, agrees: counts.equal + counts.within === lines.length, total };
}

function toTotal(cells: readonly Cell[]): Total {
  const costed = cells.filter(({ told }) => told.cost);
  const sum = (costs: readonly Pico[]) =>
    costs.length === 0 ? null : costs.reduce((all, cost) => all + cost, 0n);
  return {
    here: sum(costed.flatMap(({ here }) => (here.isPriced ? [here.costPico] : []))),
    there: sum(costed.map(({ there }) => there.costPico)),
  };
}

interface Compared {
  readonly compared: ComparedCell;
  readonly reasons: readonly Reason[];
}

interface Ledger {
  readonly ledger: readonly UpstreamDay[];
  /** False where none of the bills tells models apart. */
  readonly isByModel: boolean;
}

function compareBills(bills: readonly Bill[], { ledger, isByModel }: Ledger): readonly Compared[] {
  const rows = bills.flatMap((bill) => bill.rows);
  const uses = ledger.map((use) => ({ ...use, day: Math.floor(use.dayUs / DAY_US) }));
  const grains = new Grains(bills);
  const names = isByModel ? toPairs({ uses, rows, grains }) : new Map<string, string>();
  const toName = (model = "") => (isByModel ? (names.get(model) ?? model) : null);
  const tools = new ToolNames(rows);
  const toRowName = ({ model, toolUnit }: BillRow) =>
    toolUnit === undefined ? toName(model) : tools.of(toolUnit);
  for (const row of rows) grains.learn(row, toRowName(row));
  const cells = new Map<string, Cell>();
  const areToolsApart = isByModel && bills.some(({ format }) => format.endsWith("-costs"));
  for (const use of uses) {
    const model = toName(use.model);
    for (const grain of grains.of(use.day, model)) {
      const cell = getCell(cells, { ...use, model, grain });
      addUse(cell, areToolsApart && grain.told.cost ? toWithoutTools(use) : use);
      if (areToolsApart && grain.told.cost && use.tools === null)
        for (const unit of TOOL_UNITS) cell.here.mixedCalls += use.units[unit] ?? 0;
    }
    for (const tool of areToolsApart ? (use.tools ?? []) : []) {
      const place = { day: use.day, model: tools.of(tool.unit) };
      grains.learn({ day: use.day, units: {}, costPico: tool.costPico }, place.model);
      for (const grain of grains.of(use.day, place.model))
        if (grain.told.cost) addTool(getCell(cells, { ...place, grain }), tool);
    }
  }
  for (const row of rows) {
    const model = toRowName(row);
    const chosen = grains.of(row.day, model).filter((grain) => isRowOf(grain, row));
    for (const grain of chosen) addRow(getCell(cells, { ...row, model, grain }), row);
  }
  const compared = [...cells.values()]
    .map((cell) => new ComparedCell(cell))
    .filter((cell) => !cell.isNothing);
  const byKey = new Map(compared.map((each) => [toCellKey(each.cell), each]));
  const byModel = Map.groupBy(compared, ({ cell }) => toCellKey({ ...cell, tier: null }));
  return compared.map((each) => {
    const { cell } = each;
    const neighbors = [cell.day - 1, cell.day + 1].flatMap(
      (day) => byKey.get(toCellKey({ ...cell, day })) ?? [],
    );
    const tiers = cell.tier === null ? [each] : (byModel.get(toCellKey({ ...cell, tier: null })) ?? []);
    return { compared: each, reasons: findReasons(each, { neighbors, tiers }) };
  });
}

/** What answers told of their cost. Where only some did, it can be too high alone. */
function compareReported(bills: readonly Bill[], ledger: readonly UpstreamDay[]): readonly Line[] {
  const days = new Set(bills.flatMap(toDays));
  const told: Told = { requests: false, units: [], cost: true };
  return ledger.flatMap((use) => {
    const { costReported, requests, dayUs, model } = use;
    const day = Math.floor(dayUs / DAY_US);
    if (costReported === null || !days.has(day)) return [];
    const cell = toCell({ day, model, tier: use.tier ?? STANDARD_TIER, told });
    addUse(cell, use);
    addRow(cell, { day, units: {}, costPico: costReported.pico });
    const compared = new ComparedCell(cell);
    const isWhole = costReported.requests >= requests;
    if (compared.agrees || (!isWhole && cell.here.costPico >= costReported.pico)) return [];
    return [{ ...toLine(compared, findReportedReasons(compared, costReported)), comparedWith: "answers" }];
  });
}

function toDays({ firstDay, lastDay }: Bill): readonly Day[] {
  return Array.from({ length: lastDay - firstDay + 1 }, (_, index) => firstDay + index);
}

interface Sides {
  readonly uses: readonly (UpstreamDay & { readonly day: Day })[];
  readonly rows: readonly BillRow[];
  readonly grains: Grains;
}

/** Pairs the names of all days, also by the quantities of those days of which usage is billed. */
function toPairs({ uses, rows, grains }: Sides): ReadonlyMap<string, string> {
  const here = new Map<string, Cell>();
  const there = new Map<string, Cell>();
  const told = grains.usage;
  const whole = { day: 0, grain: { told, tellsTier: false } };
  for (const { day, ...use } of uses) {
    const cell = getCell(here, { ...whole, model: use.model });
    if (grains.isUsageDay(day)) addUse(cell, use);
  }
  for (const row of rows)
    if (row.isTool !== true) addRow(getCell(there, { ...whole, model: row.model ?? "" }), row);
  const toText = ({ requests, units }: Sum) => {
    const quantities = [...(told.requests ? [requests] : []), ...told.units.map((unit) => units[unit])];
    return quantities.every((quantity) => quantity === 0) ? null : quantities.join(" ");
  };
  return pairNames(
    new Map([...here.values()].map((cell) => [cell.model ?? "", toText(cell.here)])),
    new Map([...there.values()].map((cell) => [cell.model ?? "", toText(cell.there)])),
  );
}

/** `-2025-08-07`, `@20250929`, ` 2024-10-22`: the date of a snapshot; `-0613` and `-latest` as well. */
const SNAPSHOT = /[-@ ](?:20\d{2}-?\d{2}-?\d{2}|\d{4}|latest)$/;

/**
 * What names of one model have in common: `openai/gpt-5`, `gpt-5-2025-08-07` and `GPT 5` are one. Without publisher, snapshot
 * and variant, and without marks between letters and digits.
 */
export function toModelFamily(name: string): string {
  const bare = name
    .slice(name.lastIndexOf("/") + 1)
    .toLowerCase()
    .replace(/:[a-z]+$/, "");
  return bare.replace(SNAPSHOT, "").replace(/[^a-z0-9]/g, "");
}

/** The names of one side, each with its requests and units as a text; null where it has none. */
export type NamedQuantities = ReadonlyMap<string, string | null>;

/**
 * One name for each name of the bill and of the ledger that has to change. Names that both sides have stay; those of one family
 * are one where the sides name it differently, and so are two that remain and have the same quantities. Ours wins.
 */
export function pairNames(here: NamedQuantities, there: NamedQuantities): ReadonlyMap<string, string> {
  const paired = new Map<string, string>();
  const theirs = Map.groupBy(there.keys(), toModelFamily);
  for (const [family, ours] of Map.groupBy(here.keys(), toModelFamily)) {
    const others = theirs.get(family) ?? [];
    const isSame = ours.length === others.length && others.every((name) => here.has(name));
    const [first] = ours.toSorted(compareCodeUnits);
    if (first === undefined || others.length === 0 || isSame) continue;
    for (const name of [...ours, ...others]) paired.set(name, first);
  }
  const isAlone = (name: string) => !paired.has(name) && !(here.has(name) && there.has(name));
  const oursAlone = Map.groupBy([...here.keys()].filter(isAlone), (name) => here.get(name));
  for (const [name, quantities] of there) {
    const alike = quantities === null || !isAlone(name) ? [] : (oursAlone.get(quantities) ?? []);
    const [match] = alike;
    if (match !== undefined && alike.length === 1) paired.set(name, match);
  }
  return paired;
}

interface Placed {
  readonly day: Day;
  readonly model: string | null;
  readonly tier?: string | null | undefined;
  readonly grain: Grain;
}

function getCell(cells: Map<string, Cell>, { day, model, tier, grain }: Placed): Cell {
  const { told, tellsTier } = grain;
  const place = { day, model, tier: tellsTier ? (tier ?? STANDARD_TIER) : null, told };
  const key = toCellKey(place);
  const cell = cells.get(key) ?? toCell(place);
  cells.set(key, cell);
  return cell;
}

type Place = Pick<Cell, "day" | "model" | "tier" | "told">;

function toCell(place: Place): Cell {
  return {
    ...place,
    here: {
      ...toNothing(),
      isPriced: false,
      unpricedRequests: 0,
      unpricedUnits: new Set(),
      mixedCalls: 0,
      unmeteredRequests: 0,
      tiers: new Set(),
    },
    there: { ...toNothing(), names: new Set(), conditions: new Set(), toolPico: 0n },
  };
}

function toCellKey({ day, model, tier, told }: Place): string {
  return JSON.stringify([day, model, tier, told.cost, told.requests, told.units.length]);
}

function toNothing(): Sum {
  const units = { input_tokens: 0, cached_input_tokens: 0, output_tokens: 0, images: 0, web_searches: 0 };
  return { isThere: false, requests: 0, costPico: 0n, units };
}

/** Where a bill does not tell cached tokens, they are part of the input. */
function addUse({ here, told }: Cell, use: UpstreamDay): void {
  const { units } = use;
  const isCachedApart = told.units.includes("cached_input_tokens");
  here.isThere = true;
  here.requests += use.requests;
  here.unpricedRequests += use.unpricedRequests;
  for (const unit of use.unpricedUnits) here.unpricedUnits.add(unit);
  here.unmeteredRequests += use.unmeteredRequests;
  for (const unit of BILLED_UNITS)
    here.units[!isCachedApart && unit === "cached_input_tokens" ? "input_tokens" : unit] += units[unit] ?? 0;
  if (use.tier !== null) here.tiers.add(use.tier);
  if (use.costPico === null) return;
  here.isPriced = true;
  here.costPico += use.costPico;
}

/** A tool's costs are one line whatever the bill calls it, and the line has the first of these names. */
class ToolNames {
  readonly #nameOf = new Map<ToolUnit, string>();

  constructor(rows: readonly BillRow[]) {
    for (const { toolUnit, model } of rows)
      if (toolUnit !== undefined && model !== undefined && !this.#nameOf.has(toolUnit))
        this.#nameOf.set(toolUnit, model);
  }

  of(unit: ToolUnit): string {
    return this.#nameOf.get(unit) ?? unit;
  }
}

/** The use of a model alone, as far as the cost of tools can be told from it. */
function toWithoutTools(use: UpstreamDay): UpstreamDay {
  if (use.tools === null || use.tools.length === 0) return use;
  const ofTools = use.tools.reduce((sum, { costPico }) => sum + costPico, 0n);
  const isTool = (unit: ReportUnit) => TOOL_UNITS.some((tool) => tool === unit);
  const unpricedUnits = use.unpricedUnits.filter((unit) => !isTool(unit));
  const isPriced = unpricedUnits.length === 0 && use.unpricedUnits.length > 0;
  return {
    ...use,
    unpricedUnits,
    unpricedRequests: isPriced ? 0 : use.unpricedRequests,
    costPico: use.costPico === null ? null : use.costPico - ofTools,
  };
}

function addTool({ here }: Cell, { unit, requests, unpricedRequests, costPico }: ToolUse): void {
  here.isThere = true;
  here.requests += requests;
  here.unpricedRequests += unpricedRequests;
  here.costPico += costPico;
  if (unpricedRequests > 0) here.unpricedUnits.add(unit);
  if (requests > unpricedRequests) here.isPriced = true;
}

function addRow({ there }: Cell, row: BillRow): void {
  const { requests = 0, costPico = 0n, conditions = [] } = row;
  there.isThere = true;
  there.requests += requests;
  there.costPico += costPico;
  if (row.isTool === true) there.toolPico += costPico;
  for (const unit of BILLED_UNITS) there.units[unit] += row.units[unit] ?? 0;
  for (const condition of conditions) there.conditions.add(condition);
  if (row.model !== undefined) there.names.add(row.model);
}

function toLine({ cell, kind }: ComparedCell, reasons: readonly Reason[]): Line {
  const { here, there, told } = cell;
  const toUnits = ({ units }: Sum) => Object.fromEntries(told.units.map((unit) => [unit, units[unit]]));
  return {
    comparedWith: "bill",
    day: cell.day,
    model: cell.model,
    billedAs:
      cell.model === null
        ? []
        : [...there.names].filter((name) => name !== cell.model).sort(compareCodeUnits),
    tier: cell.tier,
    kind,
    here: here.isThere
      ? {
          requests: here.requests,
          units: toUnits(here),
          costPico: here.isPriced ? here.costPico : null,
          unpricedRequests: here.unpricedRequests,
          unmeteredRequests: here.unmeteredRequests,
        }
      : null,
    there: there.isThere
      ? {
          requests: told.requests ? there.requests : null,
          units: toUnits(there),
          costPico: told.cost ? there.costPico : null,
        }
      : null,
    reasons,
  };
}

function byPlace(one: Line, other: Line): number {
  return (
    one.day - other.day ||
    compareCodeUnits(one.model ?? "", other.model ?? "") ||
    compareCodeUnits(one.tier ?? "", other.tier ?? "")
  );
}
