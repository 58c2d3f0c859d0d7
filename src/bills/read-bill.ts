import { ProxyError } from "#kernel/errors.ts";
import {
  type Bill,
  type BillFile,
  type BillFiles,
  clipBill,
  type BillRecord,
  type BillRow,
  type ColumnMap,
} from "./bill.ts";
import { recognise, toRowReader } from "./bill-formats.ts";
import { readRecords, RowBudget } from "./file-records.ts";

type ReadOptions = Pick<BillFiles, "format" | "map">;

/** Reads files and clips them to the days that are wanted. Throws what `readBill` throws, and `invalid_request` where none is left. */
export function readBills({ files, fromDay, endDay, ...options }: BillFiles): readonly Bill[] {
  const budget = new RowBudget();
  const bills = files.map((file) => readBill(file, options, budget));
  const clipped = bills.flatMap((bill) => clipBill(bill, { fromDay, endDay }) ?? []);
  if (clipped.length > 0) return clipped;
  throw new ProxyError(
    "invalid_request",
    "The files tell of no day of this window: choose another since or until.",
    { param: fromDay === null ? "until" : "since" },
  );
}

/** Reads a provider's export. Throws `invalid_bill` for what is none, naming file and row, and `invalid_request` for a map. */
export function readBill(
  file: BillFile,
  { format: asked, map = {} }: ReadOptions,
  budget = new RowBudget(),
): Bill {
  const records = readRecords(file, budget);
  const format = asked ?? (Object.keys(map).length > 0 ? "csv" : recognise(records));
  if (format === null)
    throw new ProxyError(
      "invalid_bill",
      `${file.name} has the columns of no export that is known. Name its columns: format csv with a map of date, model, requests, input_tokens, cached_input_tokens, output_tokens and cost.`,
    );
  if (format === "csv") refuseAbsentColumns(file, records, map);
  const toRow = toRowReader(format, map);
  const rows: BillRow[] = [];
  let skippedRows = 0;
  let [firstDay, lastDay] = [Infinity, -Infinity];
  for (const record of records) {
    const row = toRow(record);
    if (row === null) {
      skippedRows += 1;
      continue;
    }
    firstDay = Math.min(firstDay, row.day);
    lastDay = Math.max(lastDay, row.day);
    if (isTelling(row)) rows.push(row);
  }
  if (firstDay > lastDay)
    throw new ProxyError(
      "invalid_bill",
      `${file.name} has rows of other products alone: none of its ${skippedRows} rows is about models.`,
    );
  return { file: file.name, format, rows, skippedRows, firstDay, lastDay };
}

/** False for a day without usage, and for zeros, which some exports write for every day. */
function isTelling({ requests = 0, costPico = 0n, units }: BillRow): boolean {
  return requests !== 0 || costPico !== 0n || Object.values(units).some((quantity) => quantity !== 0);
}

function refuseAbsentColumns({ name }: BillFile, records: readonly BillRecord[], map: ColumnMap): void {
  for (const [field, column] of Object.entries(map)) {
    if (records.some((record) => record.has(column.toLowerCase()))) continue;
    throw new ProxyError(
      "invalid_bill",
      `${name} has no column ${column}, which the map names for ${field}.`,
      {
        param: `map.${field}`,
      },
    );
  }
}
