import { parse } from "papaparse";
import { ProxyError } from "#kernel/errors.ts";
import { type BillFile, BillRecord } from "./bill.ts";

/** Rows of one request: some two seconds of a reader Worker. */
export const BILL_ROWS_MAX = 100_000;

/** The rows of a file as records, of JSON or of CSV by its first character. Throws `invalid_bill`. */
export function readRecords({ name, text }: BillFile): readonly BillRecord[] {
  const bare = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  const isJson = /^\s*[[{]/.test(bare);
  const rows = isJson ? readJson(name, bare) : readCsv(name, bare);
  if (rows.length === 0) throw new ProxyError("invalid_bill", `${name} holds no rows: export it again.`);
  if (rows.length > BILL_ROWS_MAX)
    throw new ProxyError(
      "invalid_bill",
      `${name} has ${rows.length} rows, and ${BILL_ROWS_MAX} are read at most: export fewer days, or whole days in place of hours.`,
    );
  return rows.map((row) => new BillRecord(row.fields, `${name}, ${row.place}`));
}

interface Row {
  readonly fields: ReadonlyMap<string, string>;
  readonly place: string;
}

const BYTE_ORDER_MARK = "\uFEFF";

/** RFC 4180, with any of the usual delimiters: exports of some regions have semicolons. */
function readCsv(name: string, text: string): readonly Row[] {
  const { data, errors } = parse<readonly string[]>(text, { skipEmptyLines: "greedy" });
  const broken = errors.find(({ type }) => type === "Quotes");
  if (broken !== undefined)
    throw new ProxyError(
      "invalid_bill",
      `${name}, row ${(broken.row ?? 0) + 1}: a quotation mark has no end, so that this is no CSV.`,
    );
  const [head = [], ...lines] = data;
  const names = head.map((column) => column.trim().toLowerCase());
  return lines.map((cells, index) => ({
    fields: new Map(names.map((column, at) => [column, cells[at]?.trim() ?? ""])),
    place: `row ${index + 2}`,
  }));
}

/**
 * Pages of an interface: `{data: [row]}`, or `{data: [bucket]}` whose rows stand in `results`; several pages as a list. A bucket
 * without rows is one that tells its day alone. Numbers are kept as they are written.
 */
function readJson(name: string, text: string): readonly Row[] {
  const pages = [parseJson(name, text)].flat();
  const rows: Row[] = [];
  for (const page of pages) {
    const buckets = isObject(page) && Array.isArray(page["data"]) ? page["data"] : [page];
    for (const bucket of buckets) {
      if (!isObject(bucket)) throw notPages(name);
      const { results, ...ofBucket } = bucket;
      const told = Array.isArray(results) && results.length > 0 ? results : [{}];
      for (const result of told) {
        if (!isObject(result)) throw notPages(name);
        const fields = new Map<string, string>();
        addFields(fields, ofBucket, "");
        addFields(fields, result, "");
        rows.push({ fields, place: `row ${rows.length + 1}` });
      }
    }
  }
  return rows;
}

function notPages(name: string): ProxyError {
  return new ProxyError(
    "invalid_bill",
    `${name} is JSON, but no page of a usage or cost interface: it should be an object with a list in data.`,
  );
}

function parseJson(name: string, text: string): unknown {
  try {
    return JSON.parse(text, keepSource);
  } catch (cause) {
    throw new ProxyError("invalid_bill", `${name} is not valid JSON.`, { cause });
  }
}

/** The text of a number, since a double would round what a bill says (ES2026, JSON.parse with source text). */
function keepSource(_: string, value: unknown, context?: { readonly source?: string }): unknown {
  return typeof value === "number" ? (context?.source ?? String(value)) : value;
}

/** Objects within objects that are looked into: bills have two levels. */
const DEPTH_MAX = 4;

function addFields(fields: Map<string, string>, object: object, prefix: string, depth = 0): void {
  for (const [key, value] of Object.entries(object)) {
    const name = `${prefix}${key.toLowerCase()}`;
    if (isObject(value) && depth < DEPTH_MAX) addFields(fields, value, `${name}_`, depth + 1);
    else if (typeof value === "string" || typeof value === "boolean") fields.set(name, String(value).trim());
  }
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
