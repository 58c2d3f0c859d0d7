/**
 * drizzle asks of each constraint of a table whether it is a primary key of PostgreSQL (`relations.js`), by the mark of its
 * class. Its own module of that class brings all of `pg-core` with it, into every process that uses SQLite: 24 KB of source
 * and a class for each type of column. The question needs the mark alone.
 */
export const primaryKeyMark: Bun.BunPlugin = {
  name: "primary-key-mark",
  setup(build) {
    build.onResolve({ filter: /^\.\/pg-core\/primary-keys\.js$/ }, ({ path, importer }) =>
      /[\\/]drizzle-orm[\\/]relations\.js$/.test(importer) ? { path, namespace: "primary-key" } : undefined,
    );
    build.onLoad({ filter: /.*/, namespace: "primary-key" }, () => ({
      contents: `export class PrimaryKeyBuilder { static [Symbol.for("drizzle:entityKind")] = "PgPrimaryKeyBuilder"; }`,
      loader: "js",
    }));
  },
};
