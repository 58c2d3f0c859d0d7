import { Type, type Static, type TProperties, type TSchema } from "@sinclair/typebox";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { REPORT_UNITS } from "#kernel/units.ts";

/**
 * The parts of wire shapes of answers. They describe answers in the OpenAPI document and in tests, and are not
 * run on what is sent. A shape with a `title` is a component of the document under that name.
 */

/** An object with exactly these fields. */
export function view<Properties extends TProperties>(title: string, properties: Properties) {
  return Type.Object(properties, { title, additionalProperties: false });
}

/** An object with exactly these fields that has no name of its own. */
export function fields<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false });
}

export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

/**
 * One of some words, in answers: the server's own, so that its type is as narrow as they are. `enum` beside a string is a
 * keyword that TypeBox does not know: it is shown in the OpenAPI document, and never run.
 */
export function oneOf<const Word extends string>(
  words: readonly Word[],
  options: { readonly description?: string } = {},
) {
  return Type.Unsafe<Word>(Type.String({ enum: [...words], ...options }));
}

/** An object with a field of one shape for each name. */
export function eachOf<const Name extends string, Schema extends TSchema>(
  names: readonly Name[],
  schema: Schema,
) {
  const properties = Object.fromEntries(names.map((name) => [name, schema]));
  return Type.Unsafe<{ [name in Name]: Static<Schema> }>(fields(properties));
}

/** An object with a field of one shape for some of the names; titled as `view` does it when `options` say so. */
export function someOf<const Name extends string, Schema extends TSchema>(
  names: readonly Name[],
  schema: Schema,
  options: { readonly title?: string; readonly description: string },
) {
  const properties = Object.fromEntries(names.map((name) => [name, Type.Optional(schema)]));
  return Type.Unsafe<{ [name in Name]?: Static<Schema> }>(
    Type.Object(properties, { additionalProperties: false, ...options }),
  );
}

/** What providers say that it costs (`usage.cost`); never mixed with `cost`. */
export const CostReported = Type.Optional(
  Type.Number({
    minimum: 0,
    description: "What providers say that it costs. Absent where none told a cost.",
  }),
);

/** A number of things; never negative. */
export const Count = Type.Integer({ minimum: 0 });
export const Id = Type.String({ format: "uuid", description: "UUIDv7." });
export const Instant = Type.String({
  format: "date-time",
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`,
  description: "UTC, with microseconds.",
});
export const Tags = Type.Array(Type.String({ description: "`key:value`" }));
/** The pending requests of a row of a report; absent where there are none. */
export const PendingRequests = Type.Optional(
  Type.Integer({
    minimum: 1,
    description:
      "Requests whose answer is given in the background and whose usage is not known yet. Absent where there are none.",
  }),
);

export const Cost = nullable(
  Type.Number({ minimum: 0, description: "Null when nothing was priced, never zero instead." }),
);

/** A number for each unit of the reports; units without one are left out. */
export const Units = someOf(REPORT_UNITS, Type.Number({ minimum: 0 }), {
  title: "Units",
  description: "Units that nothing reported are left out.",
});

/** `{<name>: [row], limit, offset, total}`. */
export function pageOf<const Name extends string, Row extends TSchema>(name: Name, row: Row) {
  return Type.Unsafe<{ [rows in Name]: Static<Row>[] } & PageEcho>(
    fields({ [name]: Type.Array(row), limit: Count, offset: Count, total: Count }),
  );
}

/** Every page says this of itself beside its rows. */
export interface PageEcho {
  limit: number;
  offset: number;
  total: number;
}

/** `{<name>: [row]}`, of a list that comes as a whole: there are at most `PAGE_LIMIT_MAX` of a caller's own. */
export function listOf<const Name extends string, Row extends TSchema>(name: Name, row: Row) {
  return Type.Unsafe<{ [rows in Name]: Static<Row>[] }>(
    fields({ [name]: Type.Array(row, { maxItems: PAGE_LIMIT_MAX }) }),
  );
}

/** The answer of a deletion. */
export const Deleted = view("Deleted", {
  deleted: Type.String({ description: "The id or the name of what was deleted." }),
});

const removedSecret = { id: Id, label: Type.String() };
/** The answer of a deletion with `dry_run`. */
export const Removal = view("Removal", {
  deleted: Type.String({ description: "The id or the name of what would be deleted." }),
  applied: Type.Literal(false),
  sentence: Type.String({ description: "All of it for a person; may change." }),
  name: Type.Optional(Type.String({ description: "Of a principal or a limit." })),
  models: Type.Optional(Type.Array(Type.String())),
  names: Type.Optional(Type.Array(Type.String(), { description: "Names for these models." })),
  prices: Type.Optional(
    Type.Array(Type.String(), { description: "Units whose price was set with a model." }),
  ),
  keys: Type.Optional(Type.Array(fields({ ...removedSecret, key_suffix: Type.String() }))),
  relay_tokens: Type.Optional(Type.Array(fields({ ...removedSecret, token_suffix: Type.String() }))),
  sessions: Type.Optional(Count),
  last_used_at: Type.Optional(nullable(Instant)),
  limits: Type.Optional(Type.Array(fields({ id: Id, name: Type.String() }))),
});
/** The answer of a route that deletes, and that takes `dry_run`. */
export const DeletedOrRemoval = Type.Union([Deleted, Removal]);

/** Specification, section 2.1, and the amendments. */
export const ErrorEnvelope = view("Error", {
  type: Type.Optional(
    Type.Literal("error", { description: "Where clients of the messages API ask: at the relay." }),
  ),
  error: fields({
    message: Type.String({ description: "For a person; may change." }),
    type: Type.Literal("proxy_error"),
    code: Type.String({ description: "Stable; for programs." }),
    param: nullable(Type.String({ description: "The offending field of the request." })),
  }),
  proxy: fields({
    source: Type.Literal("proxy"),
    request_id: Type.String({
      format: "uuid",
      description:
        "As `x-proxy-request-id` has it; on the data plane and the relay also the end of the message.",
    }),
  }),
});

/** A body of the upstream: nothing is said of its shape. */
export const Foreign = Type.Any({ description: "The upstream's own, unchanged." });
