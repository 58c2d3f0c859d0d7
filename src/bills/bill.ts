import { DAY_US, type InstantUs } from "#kernel/clock.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { Pico } from "#kernel/units.ts";

/** The formats of providers' exports, each of JSON and of CSV where the provider has both; `csv` is any other, by its columns. */
export const BILL_FORMATS = [
  "openai-usage",
  "openai-costs",
  "anthropic-usage",
  "anthropic-costs",
  "openrouter",
  "azure",
  "csv",
] as const;
export type BillFormat = (typeof BILL_FORMATS)[number];

/** A format by its name. Throws `invalid_request`. */
export function parseBillFormat(name: string): BillFormat {
  const format = BILL_FORMATS.find((known) => known === name);
  if (format !== undefined) return format;
  throw new ProxyError("invalid_request", `format must be one of ${BILL_FORMATS.join(", ")}.`, {
    param: "format",
  });
}

/** Bytes of a body that has files: two years of days for a dozen models. */
export const BILL_BODY_BYTES_MAX = 8 * 1024 * 1024;
/** Files of one comparison: a page of an interface each. */
export const BILL_FILES_MAX = 100;

/** The vendor whose bill a format is; `csv` is anyone's. */
export function toVendor(format: BillFormat): string {
  return format.replace(/-.*/, "");
}

/** The domains under which a vendor's interface answers. */
const VENDOR_DOMAINS: { readonly [vendor: string]: readonly string[] } = {
  openai: ["openai.com"],
  anthropic: ["anthropic.com"],
  openrouter: ["openrouter.ai"],
  azure: ["azure.com", "azure-api.net"],
};

/** True where a request to this address is on the bill of this vendor. Azure's OpenAI is Azure's. */
export function isBilledBy(vendor: string, baseUrl: string): boolean {
  const { hostname } = new URL(baseUrl);
  const domains = VENDOR_DOMAINS[vendor] ?? [];
  return domains.some((domain) => hostname === domain || hostname.endsWith(`.${domain}`));
}

/** The fields of `--map`, which name columns of a CSV file. */
export const MAPPED_FIELDS = [
  "date",
  "model",
  "tier",
  "requests",
  "input_tokens",
  "cached_input_tokens",
  "output_tokens",
  "cost",
] as const;
export type MappedField = (typeof MAPPED_FIELDS)[number];
export type ColumnMap = { readonly [field in MappedField]?: string };

/** The units that bills tell of. */
export const BILLED_UNITS = [
  "input_tokens",
  "cached_input_tokens",
  "output_tokens",
  "images",
  "web_searches",
] as const;
export type BilledUnit = (typeof BILLED_UNITS)[number];
/** Units of tools that are billed by the call, whose costs a bill may have apart from those of models. */
export const TOOL_UNITS = ["web_searches"] as const satisfies readonly BilledUnit[];
export type ToolUnit = (typeof TOOL_UNITS)[number];
/** Without `cached_input_tokens`, `input_tokens` is the whole input; else the rest of it, what was written to a cache included. */
export type BilledUnits = { readonly [unit in BilledUnit]?: number };

/** Days since 1970-01-01, UTC. */
export type Day = number;

/** A part of a bill. A measure that it does not tell is absent, and so is a model or tier that it does not tell apart. */
export interface BillRow {
  readonly day: Day;
  readonly model?: string;
  /** Null is the standard tier. */
  readonly tier?: string | null;
  readonly requests?: number;
  readonly units: BilledUnits;
  readonly costPico?: Pico;
  /** True where the cost is of a tool that is billed by the call. */
  readonly isTool?: boolean;
  /** The unit in which the ledger counts this tool; absent for one that it does not count. */
  readonly toolUnit?: ToolUnit;
  /** Conditions other than the tier that may have a price of their own, such as `context 200k-1M`. */
  readonly conditions?: readonly string[];
}

export interface Bill {
  readonly file: string;
  readonly format: BillFormat;
  readonly rows: readonly BillRow[];
  /** Rows of other products. */
  readonly skippedRows: number;
  /** The days that it tells of, those without usage included. */
  readonly firstDay: Day;
  readonly lastDay: Day;
}

/** The bill of some days, of which both are optional and the second is outside; null where it tells of none of them. */
export function clipBill(
  bill: Bill,
  { fromDay, endDay }: { readonly fromDay: Day | null; readonly endDay: Day | null },
): Bill | null {
  const firstDay = Math.max(bill.firstDay, fromDay ?? bill.firstDay);
  const lastDay = Math.min(bill.lastDay, (endDay ?? bill.lastDay + 1) - 1);
  if (firstDay > lastDay) return null;
  const rows = bill.rows.filter(({ day }) => day >= firstDay && day <= lastDay);
  return { ...bill, rows, firstDay, lastDay };
}

/** What is told of a bill beside its comparison. */
export type BillSummary = Omit<Bill, "rows"> & { readonly rowCount: number };

export function toSummary({ rows, ...bill }: Bill): BillSummary {
  return { ...bill, rowCount: rows.length };
}

/** A file whose text may be any of the formats. */
export interface BillFile {
  /** Such as `usage.csv`, for messages. */
  readonly name: string;
  readonly text: string;
}

/** Files, and how they are to be read. */
export interface BillFiles {
  readonly files: readonly BillFile[];
  /** Recognised by its columns where absent. */
  readonly format?: BillFormat | undefined;
  readonly map?: ColumnMap | undefined;
  /** The days that are wanted, the second of which is outside; null: as far as the files go. */
  readonly fromDay: Day | null;
  readonly endDay: Day | null;
}

/** The fields of a row by their names in lower case, those of JSON that lie within another joined by `_`. */
export interface BillFields {
  has(name: string): boolean;
  get(name: string): string | undefined;
  /** The mark before the fractions of a column's numbers; null where the file does not show it. */
  findMark(name: string): DecimalMark | null;
}

/** One row of a file. */
export class BillRecord {
  readonly #fields: BillFields;
  /** Where it stands, for messages: `usage.csv, row 12`. */
  readonly #place: string;

  constructor(fields: BillFields, place: string) {
    this.#fields = fields;
    this.#place = place;
  }

  has(name: string): boolean {
    return this.#fields.has(name);
  }

  /** The first of these fields that is not empty. */
  text(...names: readonly string[]): string | undefined {
    return this.#find(names)?.text;
  }

  /** A quantity. Throws `invalid_bill`. */
  count(...names: readonly string[]): number | undefined {
    const pico = this.amount(...names);
    if (pico === undefined) return undefined;
    if (pico < 0n || pico > COUNT_MAX_PICO)
      throw this.#refuse(names, "is not a number from 0 to 2^53, as a quantity is");
    return Number(pico / PICO) + Number(pico % PICO) / Number(PICO);
  }

  /** A number of requests. Throws `invalid_bill`. */
  wholeCount(...names: readonly string[]): number | undefined {
    const count = this.count(...names);
    if (count === undefined || Number.isInteger(count)) return count;
    return this.refuse(names, "is not a whole number, as a number of requests is");
  }

  /** An amount of money in units of the currency, exact to 10⁻¹². Throws `invalid_bill`. */
  amount(...names: readonly string[]): Pico | undefined {
    const found = this.#find(names);
    if (found === undefined) return undefined;
    const { name, text } = found;
    const mark = this.#fields.findMark(name);
    if (mark === null && isAmbiguous(text))
      throw this.#refuse(
        [name],
        `is ${text}, which may be read with a fraction or with thousands: write it without thousands, or with another number of decimals`,
      );
    return parseDecimal(text, mark ?? findDecimalMark(text) ?? ".") ?? this.refuse(names, "is not a number");
  }

  /** The UTC day: an ISO date or date-time, seconds since 1970, or month/day/year. Throws `invalid_bill`. */
  day(parse: (text: string) => InstantUs | null, ...names: readonly string[]): Day {
    const text = this.text(...names) ?? this.refuse(names, "is missing");
    const instantUs = parse(text) ?? this.refuse(names, "is not a date such as 2026-01-31");
    return Math.floor(instantUs / DAY_US);
  }

  refuse(names: readonly string[], what: string): never {
    throw this.#refuse(names, what);
  }

  #find(names: readonly string[]): { readonly name: string; readonly text: string } | undefined {
    for (const name of names) {
      const text = this.#fields.get(name);
      if (text !== undefined && text !== "") return { name, text };
    }
    return undefined;
  }

  #refuse(names: readonly string[], what: string): ProxyError {
    return new ProxyError("invalid_bill", `${this.#place}: ${names[0] ?? ""} ${what}.`);
  }
}

const PICO_DIGITS = 12;
const PICO = 10n ** 12n;
const COUNT_MAX_PICO = BigInt(Number.MAX_SAFE_INTEGER) * PICO;
const DECIMAL = /^(?<sign>[+-]?)(?<whole>\d*)(?:\.(?<fraction>\d*))?(?:e(?<exponent>[+-]?\d{1,3}))?$/i;
const THOUSANDS = /^[+-]?\d{1,3}(?:,\d{3})+(?:\.\d*)?$/;
/** Far above any amount; an exponent could otherwise ask for a number of any length. */
const DIGITS_MAX = 40;

/** The mark before the fraction of a number; the other one may stand between its thousands. */
export type DecimalMark = "." | ",";

/** Three digits behind a single mark: `1,234` and `1.234`. A number that begins with 0 has no thousands. */
const AMBIGUOUS = /^[+-]?[1-9]\d{0,2}[.,]\d{3}$/;

function isAmbiguous(text: string): boolean {
  return AMBIGUOUS.test(toBare(text));
}

/** The mark that a number shows: the last of both, and one that stands once; null where it has none, or may be either. */
export function findDecimalMark(text: string): DecimalMark | null {
  const bare = toBare(text);
  if (!/^[+-]?[\d.,]*\d[\d.,]*(?:e[+-]?\d+)?$/i.test(bare) || AMBIGUOUS.test(bare)) return null;
  const [commas, points] = [bare.split(",").length - 1, bare.split(".").length - 1];
  if (commas > 0 && points > 0) return bare.lastIndexOf(",") > bare.lastIndexOf(".") ? "," : ".";
  if (commas === 1 || points > 1) return ",";
  return points === 1 || commas > 1 ? "." : null;
}

function toBare(text: string): string {
  return text.trim().replace(/^\$\s*/, "");
}

/** A decimal text in units of 10⁻¹², rounded to the nearest; null for what is none. A leading dollar sign is passed over. */
export function parseDecimal(text: string, mark: DecimalMark = "."): Pico | null {
  const bare =
    mark === "."
      ? toBare(text)
      : toBare(text).replace(/[.,]/g, (character) => (character === "," ? "." : ","));
  const groups = DECIMAL.exec(THOUSANDS.test(bare) ? bare.replaceAll(",", "") : bare)?.groups;
  if (groups === undefined) return null;
  const { sign = "", whole = "", fraction = "", exponent = "0" } = groups;
  const digits = `${whole}${fraction}`;
  if (digits === "") return null;
  const shift = PICO_DIGITS + Number(exponent) - fraction.length;
  if (digits.length + Math.max(shift, 0) > DIGITS_MAX) return /^0+$/.test(digits) ? 0n : null;
  const exact = BigInt(digits);
  const pico = shift >= 0 ? exact * 10n ** BigInt(shift) : roundedDivision(exact, 10n ** BigInt(-shift));
  return sign === "-" ? -pico : pico;
}

function roundedDivision(amount: bigint, by: bigint): bigint {
  return (amount * 2n + by) / (by * 2n);
}
