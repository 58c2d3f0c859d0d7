import { codePointLength } from "#kernel/text.ts";

/** What the server's schema says of one field of a request. */
export interface FieldTerms {
  readonly isRequired: boolean;
  /** In code points. */
  readonly maxLength?: number | undefined;
  readonly pattern?: string | undefined;
  /** What the pattern allows, to stand after "Use". */
  readonly words?: string | undefined;
  readonly minimum?: number | undefined;
  readonly exclusiveMinimum?: number | undefined;
  readonly maximum?: number | undefined;
  readonly isWhole?: boolean | undefined;
}

/** By the field's path in the request, such as `subject.model`. */
export type RequestTerms = { readonly [path: string]: FieldTerms };

/** What is wrong with a value, in a sentence to stand beside its field; undefined when the server would take it. */
export function findFault(value: unknown, terms: FieldTerms): string | undefined {
  if (value === null || value === undefined) return terms.isRequired ? REQUIRED : undefined;
  if (typeof value === "string") return findTextFault(value, terms);
  return typeof value === "number" ? findNumberFault(value, terms) : undefined;
}

export const REQUIRED = "Fill in this field";

function findTextFault(typed: string, terms: FieldTerms): string | undefined {
  const text = typed.trim();
  if (text === "") return terms.isRequired ? REQUIRED : undefined;
  const { maxLength, pattern, words } = terms;
  const length = codePointLength(text);
  if (maxLength !== undefined && length > maxLength) {
    return `Use at most ${maxLength} characters; these are ${length}`;
  }
  if (pattern === undefined || new RegExp(pattern, "u").test(text)) return undefined;
  return words === undefined ? "Use other characters" : `Use ${words}`;
}

function findNumberFault(value: number, terms: FieldTerms): string | undefined {
  const { minimum, exclusiveMinimum, maximum, isWhole = false } = terms;
  if (isWhole && !Number.isInteger(value)) return "Enter a whole number";
  if (minimum !== undefined && value < minimum) return `Enter ${minimum} or more`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum)
    return `Enter more than ${exclusiveMinimum}`;
  return maximum !== undefined && value > maximum ? `Enter ${maximum} or less` : undefined;
}
