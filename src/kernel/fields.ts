import { ProxyError } from "./errors.ts";

/**
 * A field of a resource, told once. Schemas of requests and views, parsing with its refusal, the catalog file, the flag of the
 * command line and the control of the page's form are made from it, so that a new one is a line of its resource's table.
 */
export type Field = NumberField | CountField | SwitchField | ChoiceField | PemField;
export type Fields = { readonly [key: string]: Field };

interface FieldBase {
  /** In JSON, in the catalog file, as `param` of a refusal and, with dashes, as a flag. */
  readonly wire: string;
  /** Beside its control, and where the page says that somebody else has changed it. */
  readonly label: string;
  /** Below its control; of a switch, while it is off. */
  readonly hint?: string;
  /** What views say of it in the OpenAPI document. */
  readonly description?: string;
  /** A view has it only while it differs from its default, since the specification's views do not know it. */
  readonly isAddition?: true;
  /** What `--help` says of its flag. */
  readonly help: string;
}

export interface NumberField extends FieldBase {
  readonly kind: "number";
  readonly initial: number;
  readonly unit: string;
  readonly exclusiveMinimum: number;
  readonly maximum: number;
}

/** A whole number that may be without a bound, which is null, and is written as null or as anything below one. */
interface CountField extends FieldBase {
  readonly kind: "count";
  readonly initial: null;
  readonly unit: string;
}

export interface SwitchField extends FieldBase {
  readonly kind: "switch";
  readonly initial: boolean;
  /** What `--help` says of the flag that turns it off, `--no-…`. */
  readonly helpOff: string;
}

interface ChoiceField<Word extends string = string> extends FieldBase {
  readonly kind: "choice";
  readonly initial: Word;
  readonly words: readonly Word[];
  /** What stands for its value in `--help`. */
  readonly unit: string;
  /** The words as a form shows them. */
  readonly options: readonly { readonly value: Word; readonly label: string; readonly detail?: string }[];
}

/** Certificates: null is none, and is written as an empty text. Views tell only that there are some. */
interface PemField extends FieldBase {
  readonly kind: "pem";
  readonly initial: null;
  /** The view's yes or no. */
  readonly shownAs: string;
  readonly maxLength: number;
  /** Takes a path, so it has a name of its own. */
  readonly flag: string;
}

type ValueOf<Of extends Field> =
  Of extends ChoiceField<infer Word>
    ? Word
    : Of extends { readonly kind: "number" }
      ? number
      : Of extends { readonly kind: "count" }
        ? number | null
        : Of extends { readonly kind: "switch" }
          ? boolean
          : string | null;

export type WrittenOf<Of extends Field> = Of extends { readonly kind: "choice" | "pem" }
  ? string
  : ValueOf<Of>;

type ShownOf<Of extends Field> = Of extends { readonly kind: "pem" } ? boolean : ValueOf<Of>;
type Addition = { readonly isAddition: true };
type ShownName<Of extends Field> = Of extends { readonly shownAs: infer Name extends string }
  ? Name
  : Of["wire"];

/** The fields as the domain has them. */
export type ValuesOf<Of extends Fields> = { readonly [Key in keyof Of]: ValueOf<Of[Key]> };

/** The fields as a request or a file writes them: what is left out keeps its value, or has its default. */
export type DraftOf<Of extends Fields> = {
  readonly [Key in keyof Of as Of[Key]["wire"]]?: WrittenOf<Of[Key]>;
};

/** The fields as answers show them. */
export type ViewOf<Of extends Fields> = {
  readonly [Key in keyof Of as Of[Key] extends Addition ? never : ShownName<Of[Key]>]: ShownOf<Of[Key]>;
} & {
  readonly [Key in keyof Of as Of[Key] extends Addition ? ShownName<Of[Key]> : never]?: ShownOf<Of[Key]>;
};

export function toDefaults<const Of extends Fields>(fields: Of): ValuesOf<Of>;
export function toDefaults(fields: Fields): { readonly [key: string]: unknown } {
  return Object.fromEntries(Object.entries(fields).map(([key, { initial }]) => [key, initial]));
}

/** What a draft says. Throws `invalid_request` with the field as `param`, and never repeats a value. */
export function parseFields<const Of extends Fields>(fields: Of, draft: DraftOf<Of>): Partial<ValuesOf<Of>>;
export function parseFields(fields: Fields, draft: { readonly [wire: string]: unknown }): object {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, field]) => {
      const written = draft[field.wire];
      return written === undefined ? [] : [[key, parseField(field, written)]];
    }),
  );
}

function parseField(field: Field, written: unknown): unknown {
  const { wire } = field;
  switch (field.kind) {
    case "number": {
      const { unit, exclusiveMinimum, maximum } = field;
      if (typeof written === "number" && written > exclusiveMinimum && written <= maximum) return written;
      throw refuse(wire, `is a number of ${unit} above ${exclusiveMinimum} and at most ${maximum}.`);
    }
    case "count":
      if (written === null) return null;
      if (typeof written === "number" && Number.isSafeInteger(written)) return written > 0 ? written : null;
      throw refuse(wire, "is a whole number; zero or less is unlimited.");
    case "switch":
      if (typeof written === "boolean") return written;
      throw refuse(wire, "is true or false.");
    case "choice":
      return parseWord(written, field.words, wire);
    default:
      return parsePem(field, written);
  }
}

/** Throws `invalid_request` with the param for any other word. */
export function parseWord<Word extends string>(
  written: unknown,
  words: readonly Word[],
  param: string,
): Word {
  const word = words.find((known) => known === written);
  if (word === undefined)
    throw refuse(param, words.length > 2 ? `is one of ${words.join(", ")}.` : `is ${words.join(" or ")}.`);
  return word;
}

/** Checked here, since a PEM that does not parse looks like a network failure at the first call. */
function parsePem({ wire, maxLength }: PemField, written: unknown): string | null {
  const text = typeof written === "string" ? written : "-";
  if (text.trim() === "") return null;
  const certificates = text.length > maxLength ? null : findCertificates(text);
  if (certificates !== null) return certificates;
  throw refuse(wire, `is one or more PEM certificates and no private key, at most ${maxLength} characters.`);
}

function refuse(param: string, rule: string): ProxyError {
  return new ProxyError("invalid_request", `${param} ${rule}`, { param });
}

export function toFieldsView<const Of extends Fields>(fields: Of, values: ValuesOf<Of>): ViewOf<Of>;
export function toFieldsView(fields: Fields, values: { readonly [key: string]: unknown }): object {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, field]) => {
      const value = values[key];
      if (field.kind === "pem") return [[field.shownAs, value !== null]];
      return field.isAddition === true && value === field.initial ? [] : [[field.wire, value]];
    }),
  );
}

export function toShownName(field: Field): string {
  return field.kind === "pem" ? field.shownAs : field.wire;
}

export function toShownNames<const Of extends Fields>(fields: Of): readonly (keyof ViewOf<Of>)[];
export function toShownNames(fields: Fields): readonly string[] {
  return Object.values(fields).map(toShownName);
}

/** The fields as a form holds them: a number that was emptied is null, which stands for its default. */
export type FormOf<Of extends Fields> = {
  readonly [Key in keyof Of]: Of[Key] extends NumberField ? number | null : ValueOf<Of[Key]>;
};

/** What a draft has to say, so that `before` becomes `after`. */
export function toChanges<const Of extends Fields>(
  fields: Of,
  before: FormOf<Of>,
  after: FormOf<Of>,
): DraftOf<Of>;
export function toChanges(
  fields: Fields,
  before: { readonly [key: string]: unknown },
  after: { readonly [key: string]: unknown },
): object {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([key, { wire, initial }]) => {
      const [was, now] = [before[key] ?? initial, after[key] ?? initial];
      return was === now ? [] : [[wire, now]];
    }),
  );
}

const PEM_BLOCK_PATTERN = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/**
 * The certificates of a PEM text, one after the other, without what stood between them; null when there is none, or anything
 * else, such as a private key. One that does not parse would be no more than an unknown failure at the first connection.
 */
export function findCertificates(text: string): string | null {
  const blocks = [...text.matchAll(PEM_BLOCK_PATTERN)];
  if (blocks.length === 0 || !blocks.every(([block, label]) => isCertificate(block, label))) return null;
  return blocks.map(([block]) => `${block}\n`).join("");
}

function isCertificate(block: string, label: string | undefined): boolean {
  if (label !== "CERTIFICATE") return false;
  try {
    // Loaded here and not above, as in `kernel/crypto`.
    const { X509Certificate } = process.getBuiltinModule("node:crypto");
    return new X509Certificate(block).subject !== null;
  } catch {
    return false;
  }
}
