import { expect, test } from "bun:test";
import { encodeCells, toCells } from "#storage/cells/cells.ts";
import { DecodedCells } from "#storage/reports/report-memory.ts";
import type { Query, Script } from "#storage/sql/script.ts";
import { SQLITE } from "#storage/sql/dialect.ts";

interface Stored {
  readonly at: number;
  readonly part: number;
  revision: number;
  requests: number;
}

const ROWS = 100;

/** Cells of 100 label sets each. */
function toBytes({ requests }: Stored): Uint8Array<ArrayBuffer> {
  return encodeCells(
    toCells(
      Array.from({ length: ROWS }, (_, row) => ({
        combination: row + 1,
        result: 1,
        requests,
        input_tokens: null,
      })),
    ),
  );
}

/** Answers what is asked of `cells`, and counts the rows whose bytes were read. */
function drive(reading: Script<void>, stored: readonly Stored[]): number {
  let read = 0;
  for (let step = reading.next({ dialect: SQLITE }); step.done !== true;) {
    const query: Query = step.value;
    if (query.kind !== "all") throw new Error("cells are asked for by one statement");
    const [, first, end] = query.bindings;
    const within = stored.filter(({ at }) => at >= Number(first) && at < Number(end));
    const isRead = query.sql.includes("columns");
    if (isRead) read += within.length;
    query.rows = within.map((cells) =>
      isRead ? Object.assign({}, cells, { columns: toBytes(cells) }) : cells,
    );
    step = reading.next({ dialect: SQLITE });
  }
  return read;
}

function sum(cells: DecodedCells, stored: readonly Stored[], measuresMax = 1) {
  let requests = 0;
  const wanted = {
    period: "day",
    first: 0,
    end: 100,
    measuresMax,
    isWanted: (part: number) => part === 0,
  } as const;
  const reading = cells.read(wanted, (_, { measures: [column] }) => {
    for (const value of column ?? []) requests += value;
  });
  return { read: drive(reading, stored), requests };
}

test("cells are decoded once, and again when they have another revision or more is asked of them", () => {
  const stored: Stored[] = [0, 30].map((at) => ({ at, part: 0, revision: 1, requests: 2 }));
  const cells = new DecodedCells();
  expect(sum(cells, stored)).toEqual({ read: 2, requests: 400 });
  expect(sum(cells, stored)).toEqual({ read: 0, requests: 400 });
  Object.assign(stored[1] ?? {}, { revision: 2, requests: 5 });
  expect(sum(cells, stored)).toEqual({ read: 1, requests: 700 });
  expect(sum(cells, stored, 6)).toEqual({ read: 2, requests: 700 });
  expect(sum(cells, stored)).toEqual({ read: 0, requests: 700 });
});

test("cells of a part without a label set that is asked for are not read", () => {
  const stored = [{ at: 0, part: 1, revision: 1, requests: 2 }];
  expect(sum(new DecodedCells(), stored)).toEqual({ read: 0, requests: 0 });
});

test("what is in memory is bounded: the least recently used cells are decoded again", () => {
  const stored: Stored[] = [0, 30, 60].map((at) => ({ at, part: 0, revision: 1, requests: 1 }));
  // Two of the three days fit into the memory: a label set, a result and a count of four bytes for each row.
  const cells = new DecodedCells(2 * ROWS * 12);
  expect(sum(cells, stored)).toEqual({ read: 3, requests: 300 });
  expect(sum(cells, stored.slice(1))).toEqual({ read: 0, requests: 200 });
  expect(sum(cells, stored.slice(0, 1))).toEqual({ read: 1, requests: 100 });
  expect(sum(cells, stored.slice(2))).toEqual({ read: 0, requests: 100 });
  expect(sum(cells, stored.slice(1, 2))).toEqual({ read: 1, requests: 100 });
});
