import type { Database } from "bun:sqlite";

/** Nobody wants the answer of the question any more. */
export class LeftError extends Error {}

/**
 * The connection, on which no further statement begins once the askers of a question have left: the runtime cannot end one
 * that runs. Its statements throw a `LeftError` then; what ends a transaction is not stopped.
 */
export function untilLeft(database: Database, hasLeft: () => boolean): Database {
  return new Proxy(database, {
    get(target, name) {
      if (name === "query" && hasLeft()) throw new LeftError();
      const value: unknown = Reflect.get(target, name, target);
      const own: unknown = typeof value === "function" ? value.bind(target) : value;
      return own;
    },
  });
}
