/** The differences between the engines. Everything else is SQL that both of them speak. */
export interface Dialect {
  /** Tells whether `value` is in a list that is bound as one value. */
  readonly isAnyOf: (value: string, type: "text" | "number") => string;
  /** A list that is bound as one value, in a FROM: `list.value`, and `list.key` by which it is in its order. */
  readonly toList: (type: "text" | "number") => string;
  /** A column of whole numbers as the nearest number that JavaScript has. */
  readonly toNearest: (column: string) => string;
  /** True where transactions run beside one another: what two of them must not both change has to be locked by a statement. */
  readonly hasLocks: boolean;
  /** Tells whether `value`, the key of a table, is one of some numbers; the other partitions of the table are not read. */
  readonly isAnyOfKeys: (value: string) => string;
  /** Tells whether bytes are in a list of hexadecimal texts that is bound as one value. */
  readonly isAnyOfBytes: (value: string) => string;
  /** The lane of a row of a table; the number of the only one where there are none. */
  readonly toLane: (table: string) => string;
  /** A text as it is stored: what else a text may hold would be refused, or never be found again. */
  readonly toStored: (text: string) => string;
  /** Compares a byte of what is bound as `bytes`, which stands at `place`, counted from 1. */
  readonly isByte: (bytes: "?1" | "?2", place: string, comparison: "=" | ">", byte: number) => string;
  /** A condition as 1 or 0, to be added up. */
  readonly toNumber: (condition: string) => string;
  /** A number whose sums are exact below 2^53, and arrive as a number. */
  readonly toConstant: (number: number) => string;
  /** The smaller of two numbers. */
  readonly toLeast: (first: string, second: string) => string;
  /** A member of an object, or of an array, as text; `json` is a column of text. */
  readonly toMember: (json: string, member: string | number) => string;
  /** The last whole multiple of `step` that is not above `value`. */
  readonly toStep: (value: string, step: number) => string;
  /** The columns by which an event is told from all others, in the order of the log. */
  readonly eventKey: readonly ["id"] | readonly ["id", "lane"];
  /** Ends a SELECT whose rows no other transaction changes until the end of this one; empty where there is one writer. */
  readonly forUpdate: "" | " FOR UPDATE";
  /** Tells a table from another one that has taken its place, or from itself in a server that was restored: each gives its ids anew. */
  readonly toIdentity: (table: string) => string;
}

export const SQLITE = {
  isAnyOf: (value) => `${value} IN (SELECT value FROM json_each(?))`,
  toList: () => "json_each(?) AS list",
  toNearest: (column) => column,
  hasLocks: false,
  isAnyOfKeys: (value) => `${value} IN (SELECT value FROM json_each(?))`,
  isAnyOfBytes: (value) => `${value} IN (SELECT unhex(value) FROM json_each(?))`,
  toLane: () => "0",
  toStored: (text) => text.toWellFormed(),
  // To look a byte up takes a quarter of what a look into a table does, which counts where millions of events are read.
  isByte: (bytes, place, comparison, byte) => `substr(${bytes}, ${place}, 1) ${comparison} x'0${byte}'`,
  toNumber: (condition) => `(${condition})`,
  toConstant: String,
  toLeast: (first, second) => `min(${first}, ${second})`,
  toMember: (json, member) => `${json} ->> ${typeof member === "number" ? member : `'${member}'`}`,
  toStep: (value, step) => `${value} / ${step} * ${step}`,
  eventKey: ["id"],
  forUpdate: "",
  // Another file has another connection.
  toIdentity: () => "''",
} satisfies Dialect;

export const POSTGRES: Dialect = {
  // Joined rather than looked through for each row, which takes fifty times as long for some thousand values.
  isAnyOf: (value, type) => `${value} IN (SELECT unnest(?::${type === "text" ? "text" : "bigint"}[]))`,
  toList: (type) =>
    `unnest(?::${type === "text" ? "text" : "bigint"}[]) WITH ORDINALITY AS list (value, key)`,
  toNearest: (column) => `${column}::double precision`,
  hasLocks: true,
  isAnyOfKeys: (value) => `${value} = ANY (?::bigint[])`,
  isAnyOfBytes: (value) => `${value} IN (SELECT decode(hex, 'hex') FROM unnest(?::text[]) AS given(hex))`,
  toLane: (table) => `${table}.lane`,
  // PostgreSQL's text holds no NUL, and refuses a statement for one.
  toStored: (text) => text.toWellFormed().replaceAll("\0", "\ufffd"),
  isByte: (bytes, place, comparison, byte) => `get_byte(${bytes}::bytea, ${place} - 1) ${comparison} ${byte}`,
  // Sums of integers would arrive as numeric.
  toNumber: (condition) => `(${condition})::integer::float8`,
  toConstant: (number) => `${number}::float8`,
  toLeast: (first, second) => `least(${first}, ${second})`,
  toMember: (json, member) => `(${json}::json ->> ${typeof member === "number" ? member : `'${member}'`})`,
  toStep: (value, step) => `floor(${value} / ${step}) * ${step}`,
  eventKey: ["id", "lane"],
  forUpdate: " FOR UPDATE",
  toIdentity: (table) => `pg_postmaster_start_time()::text || pg_relation_filenode('${table}')`,
};
