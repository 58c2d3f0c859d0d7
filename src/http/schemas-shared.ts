import { Type, type TProperties, type TSchema } from "@sinclair/typebox";
import { UNITS } from "#kernel/units.ts";

/**
 * What the wire shapes of answers have in common. They describe answers in the OpenAPI document and in tests, and are not
 * run on what is sent. A shape with a `title` is a component of the document under that name.
 */

/** An object with exactly these fields. */
export function view<Properties extends TProperties>(title: string, properties: Properties) {
  return Type.Object(properties, { title, additionalProperties: false });
}

/** The same, for an object that has no name of its own. */
export function fields<Properties extends TProperties>(properties: Properties) {
  return Type.Object(properties, { additionalProperties: false });
}

export const nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

/** `enum` beside a string is a keyword that TypeBox does not know: shown in the OpenAPI document, judged by the domain. */
export function oneOf(values: readonly string[], description?: string) {
  return Type.String({ enum: [...values], ...(description !== undefined && { description }) });
}

/** Of answers: never negative. */
export const Count = Type.Integer({ minimum: 0 });
export const Id = Type.String({ format: "uuid", description: "UUIDv7." });
export const Instant = Type.String({
  format: "date-time",
  pattern: String.raw`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$`,
  description: "UTC, with microseconds.",
});
export const Tags = Type.Array(Type.String({ description: "`key:value`" }));
export const Cost = nullable(
  Type.Number({ minimum: 0, description: "Null when nothing was priced, never zero instead." }),
);

/** A number per metered unit; units without one are left out. */
export const Units = Type.Object(
  Object.fromEntries(UNITS.map((unit) => [unit, Type.Optional(Type.Number({ minimum: 0 }))])),
  { title: "Units", additionalProperties: false, description: "Units that nothing reported are left out." },
);

/** `{<name>: [row], limit, offset, total}`. */
export function pageOf(name: string, row: TSchema) {
  return fields({ [name]: Type.Array(row), limit: Count, offset: Count, total: Count });
}

/** What a deletion answers. */
export const Deleted = view("Deleted", {
  deleted: Type.String({ description: "The id or the name of what was deleted." }),
});

/** Specification, section 2.1. */
export const ErrorEnvelope = view("Error", {
  error: fields({
    message: Type.String({ description: "For a person; may change." }),
    type: Type.Literal("proxy_error"),
    code: Type.String({ description: "Stable; for programs." }),
    param: nullable(Type.String({ description: "The offending field of the request." })),
  }),
  proxy: fields({ source: Type.Literal("proxy") }),
});
