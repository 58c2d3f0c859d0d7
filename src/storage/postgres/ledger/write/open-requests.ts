import type { OpenRequests, StoredBegins } from "#storage/journal/open-requests.ts";
import type { Sql } from "#storage/postgres/connection/sql.ts";

/** What a batch changes in `open_request`, gathered until its transaction. */
export class StoredBeginChanges implements StoredBegins {
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
  async store(sql: Sql, lane: number): Promise<void> {
    if (this.#isEmptied) await sql.run("DELETE FROM open_request WHERE lane = $1", [lane]);
    else if (this.#dropped.length > 0)
      await sql.run("DELETE FROM open_request WHERE lane = $1 AND sequence = ANY ($2::bigint[])", [
        lane,
        this.#dropped,
      ]);
    if (this.#added.size === 0) return;
    await sql.run(
      `INSERT INTO open_request (lane, sequence, begin_line)
       SELECT $1::integer, sequence, begin_line FROM unnest($2::bigint[], $3::bytea[]) AS given(sequence, begin_line)`,
      [lane, [...this.#added.keys()], [...this.#added.values()]],
    );
  }
}

/** The lines of the begins that are stored for a lane, in the order in which they came. */
export async function readBegins(sql: Sql, lane: number): Promise<readonly Uint8Array[]> {
  const rows = await sql.all<{ begin_line: Uint8Array }>(
    "SELECT begin_line FROM open_request WHERE lane = $1 ORDER BY sequence",
    [lane],
  );
  return rows.map((row) => row.begin_line);
}

/**
 * Ends those of a journal that has lost lines which are events already: a loss of power, or a copy of the folder, has taken
 * their ends. They would be cut off, and counted again.
 */
export async function endRecorded(sql: Sql, lane: number, open: OpenRequests): Promise<void> {
  const begins = open.unstored();
  if (begins.size === 0) return;
  const arrivals = [...begins.values()].map(({ arrivedAtUs }) => arrivedAtUs);
  const rows = await sql.all<{ id: number }>(
    "SELECT id FROM event WHERE lane = $1 AND id = ANY ($2::bigint[])",
    [lane, arrivals],
  );
  const recorded = new Set(rows.map(({ id }) => id));
  for (const [sequence, { arrivedAtUs }] of begins) if (recorded.has(arrivedAtUs)) open.end(sequence);
}
