import { Type, type TOptional, type TProperties, type TSchema, type TUnsafe } from "@sinclair/typebox";
import { t } from "elysia";
import { toShownName, type Field, type Fields, type ViewOf, type WrittenOf } from "#kernel/fields.ts";
import { nullable, oneOf } from "./shared.ts";

/** Parts of the wire shapes of requests, and the shapes that are made of the fields of a resource. */

export const closed = (title: string) => ({ title, additionalProperties: false }) as const;
/** A body under `/my` and `/auth`, whose unknown fields are ignored. */
export const open = (title: string) => ({ title, additionalProperties: true }) as const;

/** Lets any text through, since the domain judges it with a code of its own; the document tells the words. */
export const told = (words: readonly string[], description?: string) =>
  t.String({ enum: [...words], ...(description !== undefined && { description }) });

/**
 * The domain's rules for a value. They are told to readers of the document and to the page's forms, and never run: TypeBox
 * looks at no `allOf` of a text or a number.
 */
export const judged = (terms: {
  readonly maxLength?: number;
  readonly pattern?: string;
  /** The characters that the pattern allows, to stand after "Use". */
  readonly description?: string;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maximum?: number;
}) => ({ allOf: [terms] });

/** Not Elysia's `Integer`: it is a transform, which turns a body that is no object into an empty one. */
export const Cap = t.Union([t.Number({ multipleOf: 1 }), t.Null()]);

type RequestFields<Of extends Fields> = {
  [Key in keyof Of as Of[Key]["wire"]]: TOptional<TUnsafe<WrittenOf<Of[Key]>>>;
};

/** The fields as a request may write them, each left out or not. */
export function toRequestFields<const Of extends Fields>(fields: Of): RequestFields<Of>;
export function toRequestFields(fields: Fields): TProperties {
  return Object.fromEntries(
    Object.values(fields).map((field) => [field.wire, t.Optional(toRequestField(field))]),
  );
}

function toRequestField(field: Field): TSchema {
  switch (field.kind) {
    case "number":
      return t.Number(judged({ exclusiveMinimum: field.exclusiveMinimum, maximum: field.maximum }));
    case "count":
      return Cap;
    case "switch":
      return t.Boolean();
    case "choice":
      return told(field.words);
    default:
      return t.String();
  }
}

type View<Of extends Fields> = ViewOf<Of>;
type ViewFields<Of extends Fields> = {
  [Name in keyof View<Of>]-?: undefined extends View<Of>[Name]
    ? TOptional<TUnsafe<Exclude<View<Of>[Name], undefined>>>
    : TUnsafe<View<Of>[Name]>;
};

/** The fields as answers show them. */
export function toViewFields<const Of extends Fields>(fields: Of): ViewFields<Of>;
export function toViewFields(fields: Fields): TProperties {
  return Object.fromEntries(
    Object.values(fields).map((field) => {
      const schema = toViewField(field);
      return [toShownName(field), field.isAddition === true ? Type.Optional(schema) : schema];
    }),
  );
}

function toViewField(field: Field): TSchema {
  const terms = field.description === undefined ? {} : { description: field.description };
  switch (field.kind) {
    case "number":
      return Type.Number(terms);
    case "count":
      return nullable(Type.Integer({ minimum: 1, ...terms }));
    case "choice":
      return oneOf(field.words, terms);
    default:
      return Type.Boolean(terms);
  }
}
