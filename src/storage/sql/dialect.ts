/** What the engines disagree on. Everything else is SQL that both of them speak. */
export interface Dialect {
  /** Whether `value` is in a list that is bound as one value. */
  readonly isAnyOf: (value: string, type: "text" | "number") => string;
  /** A list that is bound as one value, in a FROM: `list.value`, and `list.key` by which it is in its order. */
  readonly toList: (type: "text" | "number") => string;
  /** A column of whole numbers as the nearest number that JavaScript has. */
  readonly toNearest: (column: string) => string;
  /** True where transactions run beside one another: what two of them must not both change has to be locked by a statement. */
  readonly hasLocks: boolean;
  /** Whether `value`, the key of a table, is one of some numbers; the other partitions of the table are not read. */
  readonly isAnyOfKeys: (value: string) => string;
  /** Whether bytes are in a list of hexadecimal texts that is bound as one value. */
  readonly isAnyOfBytes: (value: string) => string;
  /** The lane of a row of a table; the number of the only one where there are none. */
  readonly toLane: (table: string) => string;
  /** A text as it is stored: what else a text may hold would be refused, or never be found again. */
  readonly toStored: (text: string) => string;
  /** A temporary table in a FROM, of so many rows, which the planner cannot know. */
  readonly toSized: (table: string, rows: number) => string;
  /** A condition as 1 or 0, to be added up. */
  readonly toNumber: (condition: string) => string;
  /** A number whose sums are exact below 2^53, and arrive as a number. */
  readonly toConstant: (number: number) => string;
  /** The smaller of two numbers. */
  readonly toLeast: (first: string, second: string) => string;
  /** A member of an object, or of an array, as text; `json` is a column of text. */
  readonly toMember: (json: string, member: string | number) => string;
  /** An array of two texts as text, without spaces. */
  readonly toPair: (first: string, second: string) => string;
  /** The last whole multiple of `step` that is not above `value`. */
  readonly toStep: (value: string, step: number) => string;
  /** How a row of `event AS e` finds the shape of its combination, and is left out when that is not chosen. */
  readonly shapes: {
    /** Behind the join of `chosen_manner AS m`; `combinations` is the table of those that are chosen. */
    readonly join: (combinations: string) => string;
    readonly isInclusive: string;
    /** True when they are looked up in bytes that `saveShapes` leaves in `chosen_shapes`. */
    readonly areBytes: boolean;
  };
  /** The columns by which an event is told from all others, in the order of the log. */
  readonly eventKey: readonly ["id"] | readonly ["id", "lane"];
  /** Ends a SELECT whose rows no other transaction changes until the end of this one; empty where there is one writer. */
  readonly forUpdate: "" | " FOR UPDATE";
  /** True where events lie in a table for each day: to plan a statement takes long unless it names the instants that it is about. */
  readonly areEventsPartitioned: boolean;
  /** True where sealed days are found by their day; else by their key, which begins with the combination. */
  readonly areDaysIndexed: boolean;
  /** True where totals of dimensions are found by their dimension; else by their key, which begins with the day. */
  readonly areDimensionsIndexed: boolean;
  /** True where what lies in several tables is grouped in one statement, and not handed on for each of them. */
  readonly areSourcesJoined: boolean;
  /** The number of the bucket, from 1, that `value` lies in, of the starts that are bound as a list; null where buckets are joined. */
  readonly toBucket: ((value: string) => string) | null;
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
  toSized: (table) => table,
  toNumber: (condition) => `(${condition})`,
  toConstant: String,
  toLeast: (first, second) => `min(${first}, ${second})`,
  toMember: (json, member) => `${json} ->> ${typeof member === "number" ? member : `'${member}'`}`,
  toPair: (first, second) => `json_array(${first}, ${second})`,
  toStep: (value, step) => `${value} / ${step} * ${step}`,
  // One byte for each combination, by its id: to look that up takes a quarter of what a look into a table does.
  shapes: {
    join: () => "AND substr((SELECT shapes FROM chosen_shapes), e.combination, 1) > x'00'",
    isInclusive: "substr((SELECT shapes FROM chosen_shapes), e.combination, 1) = x'01'",
    areBytes: true,
  },
  eventKey: ["id"],
  forUpdate: "",
  areEventsPartitioned: false,
  areDaysIndexed: false,
  areDimensionsIndexed: false,
  areSourcesJoined: false,
  toBucket: null,
} satisfies Dialect;

const FEW_ROWS = 64;

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
  // The planner takes a table that was never analysed for some thousand rows, and reads another one to its end for them. For
  // more than a few rows that is quicker than to look each of them up.
  toSized: (table, rows) => (rows > FEW_ROWS ? table : `(SELECT * FROM ${table} LIMIT ${FEW_ROWS})`),
  // Sums of integers would arrive as numeric.
  toNumber: (condition) => `(${condition})::integer::float8`,
  toConstant: (number) => `${number}::float8`,
  toLeast: (first, second) => `least(${first}, ${second})`,
  toMember: (json, member) => `(${json}::json ->> ${typeof member === "number" ? member : `'${member}'`})`,
  toPair: (first, second) => `('[' || to_json(${first})::text || ',' || to_json(${second})::text || ']')`,
  toStep: (value, step) => `floor(${value} / ${step}) * ${step}`,
  shapes: {
    join: (combinations) => `JOIN ${combinations} AS shape_of ON shape_of.id = e.combination`,
    isInclusive: "coalesce(shape_of.shape, 'inclusive') = 'inclusive'",
    areBytes: false,
  },
  eventKey: ["id", "lane"],
  forUpdate: " FOR UPDATE",
  areEventsPartitioned: true,
  areDaysIndexed: true,
  areDimensionsIndexed: true,
  areSourcesJoined: true,
  toBucket: (value) => `width_bucket(${value}, ?::bigint[])`,
};
