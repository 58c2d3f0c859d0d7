import { parse } from "papaparse";
import { ProxyError } from "#kernel/errors.ts";
import { isJsonObject } from "#kernel/json.ts";
import { type BillFields, type BillFile, BillRecord, type DecimalMark, findDecimalMark } from "./bill.ts";

/** Rows of one request, of all of its files: some two seconds of a reader Worker. */
export const BILL_ROWS_MAX = 100_000;
/** Columns of a row; the widest export, Azure's, has some sixty. */
export const BILL_COLUMNS_MAX = 256;

/** How many rows may still be read. */
export class RowBudget {
  #left = BILL_ROWS_MAX;

  get left(): number {
    return this.#left;
  }

  /** Throws `invalid_bill` when there are more than may be read. */
  take(file: string, rows: number): void {
    this.#left -= rows;
    if (this.#left < 0)
      throw new ProxyError(
        "invalid_bill",
        `With ${file} the files have more than ${BILL_ROWS_MAX} rows, which is the most that is read at once: export fewer days, or whole days in place of hours.`,
      );
  }
}

/** The rows of a file as records, of JSON or of CSV by its first character. Throws `invalid_bill`. */
export function readRecords({ name, text }: BillFile, budget: RowBudget): readonly BillRecord[] {
  const bare = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  const isJson = /^\s*[[{]/.test(bare);
  const rows = isJson ? readJson(name, bare, budget) : readCsv(name, bare, budget);
  if (rows.length === 0) throw new ProxyError("invalid_bill", `${name} holds no rows: export it again.`);
  return rows.map(({ fields, place }) => new BillRecord(fields, `${name}, ${place}`));
}

interface Row {
  readonly fields: BillFields;
  readonly place: string;
}

const BYTE_ORDER_MARK = "\uFEFF";

function refuseColumns(name: string, place: string): never {
  throw new ProxyError(
    "invalid_bill",
    `${name}, ${place}: it has more than ${BILL_COLUMNS_MAX} columns, which is the most that is read: leave out those that tell nothing of usage and costs.`,
  );
}

/** RFC 4180, with any of the usual delimiters: exports of some regions have semicolons. */
function readCsv(name: string, text: string, budget: RowBudget): readonly Row[] {
  // One row more than may be read, and the head. Without quotation marks all lines would be split before they are counted.
  const preview = budget.left + 2;
  const { data, errors, meta } = parse<readonly string[]>(text, {
    skipEmptyLines: "greedy",
    preview,
    fastMode: false,
  });
  const broken = errors.find(({ type }) => type === "Quotes");
  if (broken !== undefined)
    throw new ProxyError(
      "invalid_bill",
      `${name}, row ${(broken.row ?? 0) + 1}: a quotation mark has no end, so that this is no CSV.`,
    );
  // Empty lines count until they are left out.
  if (meta.truncated) budget.take(name, preview);
  budget.take(name, Math.max(data.length - 1, 0));
  const wide = data.findIndex((cells) => cells.length > BILL_COLUMNS_MAX);
  if (wide !== -1) refuseColumns(name, `row ${wide + 1}`);
  const [head = [], ...lines] = data;
  const columns = new CsvColumns(head, lines, { hasDecimalCommas: meta.delimiter === ";" });
  return lines.map((cells, index) => ({ fields: columns.toFields(cells), place: `row ${index + 2}` }));
}

/** The columns of a CSV file: its rows keep their cells as they are, since a map for each would take memory for what is absent. */
class CsvColumns {
  readonly #placeOf: ReadonlyMap<string, number>;
  readonly #lines: readonly (readonly string[])[];
  readonly #hasDecimalCommas: boolean;
  /** By name, of the columns whose numbers were asked for. */
  readonly #marks = new Map<string, DecimalMark | null>();

  constructor(
    head: readonly string[],
    lines: readonly (readonly string[])[],
    { hasDecimalCommas }: { readonly hasDecimalCommas: boolean },
  ) {
    this.#placeOf = new Map(head.map((column, place) => [column.trim().toLowerCase(), place]));
    this.#lines = lines;
    this.#hasDecimalCommas = hasDecimalCommas;
  }

  toFields(cells: readonly string[]): BillFields {
    return {
      has: (name) => this.#placeOf.has(name),
      get: (name) => {
        const place = this.#placeOf.get(name);
        return place === undefined ? undefined : (cells[place]?.trim() ?? "");
      },
      findMark: (name) => this.#findMark(name),
    };
  }

  #findMark(name: string): DecimalMark | null {
    if (!this.#hasDecimalCommas) return ".";
    let mark = this.#marks.get(name);
    if (mark === undefined) {
      mark = findColumnMark(this.#lines, this.#placeOf.get(name) ?? -1);
      this.#marks.set(name, mark);
    }
    return mark;
  }
}

/** The mark of those numbers of a column that show one; null where none does, or both are used. */
function findColumnMark(lines: readonly (readonly string[])[], place: number): DecimalMark | null {
  let found: DecimalMark | null = null;
  for (const cells of lines) {
    const mark = findDecimalMark(cells[place] ?? "");
    if (mark === null) continue;
    if (found !== null && found !== mark) return null;
    found = mark;
  }
  return found;
}

/**
 * Pages of an interface: `{data: [row]}`, or `{data: [bucket]}` whose rows stand in `results`; several pages as a list. A bucket
 * without rows is one that tells its day alone. Numbers are kept as they are written.
 */
function readJson(name: string, text: string, budget: RowBudget): readonly Row[] {
  const pages = [parseJson(name, text)].flat();
  const rows: Row[] = [];
  for (const page of pages) {
    const buckets = isJsonObject(page) && Array.isArray(page["data"]) ? page["data"] : [page];
    for (const bucket of buckets) {
      if (!isJsonObject(bucket)) throw notPages(name);
      const { results, ...ofBucket } = bucket;
      const told = Array.isArray(results) && results.length > 0 ? results : [{}];
      budget.take(name, told.length);
      const place = () => `row ${rows.length + 1}`;
      const bucketFields = toFields(ofBucket) ?? refuseColumns(name, place());
      for (const result of told) {
        if (!isJsonObject(result)) throw notPages(name);
        const fields = toFields(result) ?? refuseColumns(name, place());
        rows.push({ fields: toJsonFields(fields, bucketFields), place: place() });
      }
    }
  }
  return rows;
}

/** A row within its bucket, whose fields all of its rows share. */
function toJsonFields(own: ReadonlyMap<string, string>, bucket: ReadonlyMap<string, string>): BillFields {
  return {
    has: (name) => own.has(name) || bucket.has(name),
    get: (name) => own.get(name) ?? bucket.get(name),
    findMark: () => ".",
  };
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

/** Null for an object of more fields than are read. */
function toFields(object: object): ReadonlyMap<string, string> | null {
  const fields = new Map<string, string>();
  addFields(fields, object, { prefix: "", depth: 0 });
  return fields.size > BILL_COLUMNS_MAX ? null : fields;
}

function addFields(
  fields: Map<string, string>,
  object: object,
  { prefix, depth }: { readonly prefix: string; readonly depth: number },
): void {
  for (const [key, value] of Object.entries(object)) {
    if (fields.size > BILL_COLUMNS_MAX) return;
    const name = `${prefix}${key.toLowerCase()}`;
    if (isJsonObject(value) && depth < DEPTH_MAX)
      addFields(fields, value, { prefix: `${name}_`, depth: depth + 1 });
    else if (typeof value === "string" || typeof value === "boolean") fields.set(name, String(value).trim());
  }
}
