import type { Database, SQLQueryBindings, Statement } from "bun:sqlite";

/** Rows that are read between two looks at whether anybody waits for them: some milliseconds. */
const ROWS_PER_LOOK = 4_096;

/** The askers of the question have left: its answer has no reader. */
export class LeftError extends Error {}

/**
 * The connection, on which no further statement begins, and none that is read row by row goes on, once the askers of a
 * question have left: the runtime cannot end a step that runs. They throw a `LeftError` then; what ends a transaction is not
 * stopped.
 */
export function untilLeft(database: Database, hasLeft: () => boolean): Database {
  return new Proxy(database, {
    get(target, name) {
      if (name !== "query") return getOwn(target, name);
      return (sql: string) => {
        if (hasLeft()) throw new LeftError();
        return watchRows(target.query<unknown, SQLQueryBindings[]>(sql), hasLeft);
      };
    },
  });
}

type Rows = Statement<unknown, SQLQueryBindings[]>;

function watchRows(statement: Rows, hasLeft: () => boolean): Rows {
  return new Proxy(statement, {
    get(target, name) {
      if (name !== "iterate") return getOwn(target, name);
      return function* iterate(...bindings: SQLQueryBindings[]) {
        let count = 0;
        for (const row of target.iterate(...bindings)) {
          count += 1;
          if (count % ROWS_PER_LOOK === 0 && hasLeft()) throw new LeftError();
          yield row;
        }
      };
    },
  });
}

/** Getters and methods find what is the target's alone. */
function getOwn(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name, target);
  const own: unknown = typeof value === "function" ? value.bind(target) : value;
  return own;
}
