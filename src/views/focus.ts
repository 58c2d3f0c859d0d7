import { DAY_US, formatInstant, type InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import { UNIT_TABLE } from "#kernel/units.ts";
import { type CsvCell, toCsvRow } from "#stats/csv.ts";
import type { BilledUnit } from "#stats/store.ts";

/** A row of a day with the names that the ledger does not keep. */
export interface FocusRow {
  readonly billed: BilledUnit;
  readonly provider: string;
  /** Null for a key that is gone, and for the relay. */
  readonly keyLabel: string | null;
}

/** What all rows of a day have in common. */
export interface FocusDay {
  readonly monthUs: InstantUs;
  readonly monthEndUs: InstantUs;
  readonly dayUs: InstantUs;
  /** ISO 4217. */
  readonly currency: string;
}

const CURRENCY = /^[A-Z]{3}$/;
export const CURRENCY_DEFAULT = "USD";

/** The query parameter `currency`: the standard one when absent or empty; throws `invalid_request`. */
export function parseCurrency(text: string | null): string {
  const currency = text || CURRENCY_DEFAULT;
  if (CURRENCY.test(currency)) return currency;
  throw new ProxyError("invalid_request", "currency must be a code of ISO 4217, such as EUR.", {
    param: "currency",
  });
}

type Column = readonly [id: string, toCell: (row: FocusRow, day: FocusDay) => CsvCell];

const toCost = ({ billed }: FocusRow) => billed.costPico;
const toUnitPrice = ({ billed }: FocusRow) => (billed.pricePico === null ? null : BigInt(billed.pricePico));
const toProvider = ({ provider }: FocusRow) => provider;
const toQuantity = ({ billed }: FocusRow) => billed.quantity;
const toModel = ({ billed }: FocusRow) => billed.model ?? "(none)";

/**
 * The columns of the dataset "Cost and Usage" of FOCUS 1.4 (FinOps Open Cost and Usage Specification, ratified 2026-06-04): each
 * mandatory one, and the conditional ones whose condition holds here. Custom ones begin with `x_`, as it asks.
 */
const COLUMNS: readonly Column[] = [
  ["BilledCost", toCost],
  ["BillingAccountId", toProvider],
  ["BillingAccountName", toProvider],
  ["BillingCurrency", (_, { currency }) => currency],
  ["BillingPeriodEnd", (_, { monthEndUs }) => toDateTime(monthEndUs)],
  ["BillingPeriodStart", (_, { monthUs }) => toDateTime(monthUs)],
  ["ChargeCategory", () => "Usage"],
  ["ChargeClass", () => null],
  ["ChargeDescription", describe],
  ["ChargeFrequency", () => "Usage-Based"],
  ["ChargePeriodEnd", (_, { dayUs }) => toDateTime(dayUs + DAY_US)],
  ["ChargePeriodStart", (_, { dayUs }) => toDateTime(dayUs)],
  ["ConsumedQuantity", toQuantity],
  ["ConsumedUnit", toUnitName],
  ["ContractedCost", toCost],
  ["ContractedUnitPrice", toUnitPrice],
  ["EffectiveCost", toCost],
  ["HostProviderName", toProvider],
  ["InvoiceIssuerName", toProvider],
  ["ListCost", toCost],
  ["ListUnitPrice", toUnitPrice],
  ["PricingCategory", ({ billed }) => (billed.unit === null ? "Other" : "Standard")],
  ["PricingQuantity", toQuantity],
  ["PricingUnit", toUnitName],
  ["ServiceCategory", () => "AI and Machine Learning"],
  ["ServiceName", toModel],
  ["ServiceProviderName", toProvider],
  ["ServiceSubcategory", () => "Generative AI"],
  ["SkuId", (row) => toSku(row, [])],
  ["SkuMeter", ({ billed }) => (billed.unit === null ? null : UNIT_TABLE[billed.unit].label)],
  ["SkuPriceDetails", toPriceDetails],
  ["SkuPriceId", toSkuPrice],
  ["SubAccountId", ({ billed }) => billed.keyId],
  // FOCUS wants a name wherever there is an id: a key that is gone, or has no label, is called by it.
  ["SubAccountName", ({ billed, keyLabel }) => keyLabel || billed.keyId],
  ["x_Geo", ({ billed }) => billed.geo],
  ["x_Principal", ({ billed }) => billed.principal],
  ["x_PrincipalId", ({ billed }) => billed.principalId],
  ["x_Tier", ({ billed }) => billed.tier],
  ["x_Unit", ({ billed }) => billed.unit],
  ["x_UnpricedReason", ({ billed }) => (billed.costPico === null ? billed.reason : null)],
  ["x_UpstreamModel", ({ billed }) => billed.upstreamName],
];

export const FOCUS_HEADER = toCsvRow(COLUMNS.map(([id]) => id));

export function toFocusCsv(rows: readonly FocusRow[], day: FocusDay): string {
  return rows.map((row) => toCsvRow(COLUMNS.map(([, toCell]) => toCell(row, day)))).join("");
}

/** FOCUS, "Date/Time Format": UTC, in seconds. */
function toDateTime(instantUs: InstantUs): string {
  return `${formatInstant(instantUs).slice(0, 19)}Z`;
}

function describe(row: FocusRow): string {
  const { unit, tier, reason } = row.billed;
  const what = unit === null ? `all units (${reason})` : UNIT_TABLE[unit].label.toLowerCase();
  return `${toModel(row)}: ${what}${tier === null ? "" : `, tier ${tier}`}`;
}

/** FOCUS, "Unit Format": a plural in title case, such as `Tokens`. */
function toUnitName({ billed }: FocusRow): string | null {
  if (billed.unit === null) return null;
  return UNIT_TABLE[billed.unit].measure.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase());
}

/** A model and a unit, and what else a price of it depends on. */
function toSku({ billed, provider }: FocusRow, conditions: readonly string[]): string | null {
  if (billed.unit === null) return null;
  return [provider, billed.model ?? "", billed.unit, ...conditions].map(encodeURIComponent).join("/");
}

/** FOCUS asks for it where there is a unit price, and for none without. */
function toSkuPrice(row: FocusRow): string | null {
  const { pricePico, tier, geo } = row.billed;
  return pricePico === null ? null : toSku(row, [tier ?? "standard", geo ?? "global", String(pricePico)]);
}

function toPriceDetails({ billed }: FocusRow): string | null {
  const { unit, pricePico, tier, geo } = billed;
  if (unit === null || pricePico === null || (tier === null && geo === null)) return null;
  return JSON.stringify({
    ...(geo !== null && { x_Geo: geo }),
    ...(tier !== null && { x_Tier: tier }),
  });
}
