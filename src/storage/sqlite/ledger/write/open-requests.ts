import type { Database } from "bun:sqlite";
import type { StoredBegins } from "#storage/journal/open-requests.ts";

/** The table `open_request`. Only within the writer's transaction. */
export function storeBegins(database: Database): StoredBegins {
  const add = database.prepare<unknown, [number, Uint8Array]>(
    "INSERT INTO open_request (sequence, begin_line) VALUES (?, ?)",
  );
  const drop = database.prepare<unknown, [number]>("DELETE FROM open_request WHERE sequence = ?");
  return {
    add: (sequence, beginLine) => void add.run(sequence, beginLine),
    drop: (sequence) => void drop.run(sequence),
    dropAll: () => void database.run("DELETE FROM open_request"),
  };
}

export function readBegins(database: Database): readonly Uint8Array[] {
  return database
    .query<{ begin_line: Uint8Array }, []>("SELECT begin_line FROM open_request")
    .all()
    .map((row) => row.begin_line);
}
