import type { OpenRequests, StoredBegins } from "#storage/journal/open-requests.ts";
import { all, dialectOf, insert, run, type Script } from "#storage/sql/script.ts";

const OPEN_REQUESTS = {
  table: "open_request",
  columns: [
    ["lane", "integer"],
    ["sequence", "bigint"],
    ["begin_line", "bytea"],
  ],
} as const;

/** What a batch changes in `open_request`, gathered until its transaction. */
export class BeginChanges implements StoredBegins {
  #isEmptied = false;
  readonly #dropped: number[] = [];
  readonly #added = new Map<number, Uint8Array>();

  add(sequence: number, beginLine: Uint8Array): void {
    this.#added.set(sequence, beginLine);
  }

  drop(sequence: number): void {
    this.#dropped.push(sequence);
  }

  dropAll(): void {
    this.#isEmptied = true;
  }

  clear(): void {
    this.#isEmptied = false;
    this.#dropped.length = 0;
    this.#added.clear();
  }

  /** Begins are added last: they are those that are open when a batch ends. */
  *store(lane: number): Script<void> {
    const { isAnyOf, toLane } = yield* dialectOf();
    const ofLane = `DELETE FROM open_request WHERE ${toLane("open_request")} = ?`;
    if (this.#isEmptied) yield* run(ofLane, [lane]);
    else if (this.#dropped.length > 0)
      yield* run(`${ofLane} AND ${isAnyOf("sequence", "number")}`, [lane, this.#dropped]);
    yield* insert(
      OPEN_REQUESTS,
      [...this.#added].map(([sequence, beginLine]) => [lane, sequence, beginLine]),
    );
  }
}

/** The lines of the begins that are stored for a lane, in the order in which they came. */
export function* readBegins(lane: number): Script<readonly Uint8Array[]> {
  const { toLane } = yield* dialectOf();
  const rows = yield* all<{ begin_line: Uint8Array }>(
    `SELECT begin_line FROM open_request WHERE ${toLane("open_request")} = ? ORDER BY sequence`,
    [lane],
  );
  return rows.map((row) => row.begin_line);
}

/**
 * Ends those of a journal that has lost lines which are events already: a loss of power, or a copy of the folder, has taken
 * their ends. They would be cut off, and counted again.
 */
export function* endRecorded(lane: number, open: OpenRequests): Script<void> {
  const { isAnyOfKeys, toLane } = yield* dialectOf();
  const begins = open.unstored();
  const rows = yield* all<{ id: number }>(
    `SELECT id FROM event WHERE ${toLane("event")} = ? AND ${isAnyOfKeys("id")}`,
    [lane, [...begins.values()].map(({ arrivedAtUs }) => arrivedAtUs)],
  );
  const recorded = new Set(rows.map(({ id }) => id));
  for (const [sequence, { arrivedAtUs }] of begins) if (recorded.has(arrivedAtUs)) open.end(sequence);
}
