import { ProxyError } from "#kernel/errors.ts";
import { parseWord } from "#kernel/fields.ts";
import {
  codePointLength,
  hasControlCharacter,
  NAME_LENGTH_MAX,
  UPSTREAM_NAME_LENGTH_MAX,
} from "#kernel/text.ts";
import { normaliseTag, TAGS_BYTES_MAX } from "#kernel/tags.ts";
import {
  type Limit,
  type LimitChange,
  type LimitEach,
  type LimitMeasure,
  LIMIT_ACTIONS,
  LIMIT_MEASURES,
  MEASURES,
  LIMIT_WINDOWS,
  UNPRICED_RULES,
} from "./limit.ts";
import type { NamedSubject, NewLimit } from "./store.ts";

/** Who is limited, as a client writes it: at most one of the first four, and a model beside it or alone. */
interface SubjectDraft {
  readonly principal?: string | undefined;
  readonly key?: string | undefined;
  readonly relay_token?: string | undefined;
  readonly tag?: string | undefined;
  readonly model?: string | undefined;
}

/** What of a limit may be written again. */
export interface LimitPatch {
  readonly name?: string | undefined;
  readonly amount?: number | undefined;
  readonly window?: string | undefined;
  readonly action?: string | undefined;
  readonly unpriced?: string | undefined;
  /** Null: any number. */
  readonly unknown?: number | null | undefined;
  readonly enabled?: boolean | undefined;
}

/** A limit as a client writes it (`docs/spec/limits.md`). */
export interface LimitDraft extends LimitPatch {
  readonly name: string;
  readonly subject: SubjectDraft;
  readonly each?: string | undefined;
  readonly fixed?: boolean | undefined;
  readonly measure: string;
  readonly amount: number;
}

/** Far above any budget, and its pico still have an exact number of twelve decimals less. */
const COST_MAX = 1e12;
const COST_DECIMALS_MAX = 12;
const SUBJECT_KINDS = ["principal", "key", "relay_token", "tag"] as const;
const TAG_KEY_PATTERN = /^[a-z0-9][a-z0-9._-]*$/;

/** Throws `invalid_name` (param `name`) and `invalid_request` with the param of the field that is wrong. */
export function parseLimitDraft(draft: LimitDraft): Omit<NewLimit, "id" | "createdAtUs"> {
  const measure = parseWord(draft.measure, LIMIT_MEASURES, "measure");
  const subject = parseSubject(draft.subject);
  const each = draft.each === undefined ? null : parseEach(draft.each);
  return {
    name: parseName(draft.name),
    subject,
    model: parseModel(draft.subject.model),
    each,
    measure,
    amount: parseAmount(measure, draft.amount),
    window: parseWindow(measure, draft.window),
    action: parseWord(draft.action ?? "refuse", LIMIT_ACTIONS, "action"),
    unpriced: parseUnpriced(measure, draft.unpriced ?? "allow"),
    unknownMax: parseUnknown(measure, draft.unknown ?? null),
    fixed: parseFixed(draft.fixed ?? false, subject, each),
    enabled: draft.enabled ?? true,
  };
}

/** Throws as `parseLimitDraft` does. */
export function parseLimitPatch({ measure }: Pick<Limit, "measure">, patch: LimitPatch): LimitChange {
  const { name, amount, window, action, unpriced, unknown, enabled } = patch;
  return {
    ...(name !== undefined && { name: parseName(name) }),
    ...(amount !== undefined && { amount: parseAmount(measure, amount) }),
    ...(window !== undefined && { window: parseWindow(measure, window) }),
    ...(action !== undefined && { action: parseWord(action, LIMIT_ACTIONS, "action") }),
    ...(unpriced !== undefined && { unpriced: parseUnpriced(measure, unpriced) }),
    ...(unknown !== undefined && { unknownMax: parseUnknown(measure, unknown) }),
    ...(enabled !== undefined && { enabled }),
  };
}

function parseName(name: string): string {
  if (name.trim() === "" || codePointLength(name) > NAME_LENGTH_MAX || !isStorable(name)) {
    const message = `A limit's name is 1 to ${NAME_LENGTH_MAX} characters, without control characters.`;
    throw new ProxyError("invalid_name", message, { param: "name" });
  }
  return name;
}

/** A lone surrogate has no UTF-8 form: another name than was given would be stored, and shown. */
function isStorable(text: string): boolean {
  return text.isWellFormed() && !hasControlCharacter(text);
}

function parseSubject(draft: SubjectDraft): NamedSubject {
  const given = SUBJECT_KINDS.filter((kind) => draft[kind] !== undefined);
  const [kind] = given;
  if (given.length > 1) {
    throw refuse("subject", `A limit has one of ${SUBJECT_KINDS.join(", ")} at most; beside it, a model.`);
  }
  if (kind === undefined) return { kind: "everybody" };
  const text = draft[kind] ?? "";
  if (kind === "principal") return { kind, name: text };
  if (kind !== "tag") return { kind, id: text };
  const pair = normaliseTag(text);
  if (pair === null || pair.length > TAGS_BYTES_MAX) throw refuse("subject.tag", "A tag is key:value.");
  return { kind, pair };
}

/**
 * A subject as a filter of the list: `principal:NAME`, `key:ID`, `relay_token:ID`, `tag:KEY:VALUE` or `everybody`. Throws
 * `invalid_request` (param `subject`). None of them has to exist.
 */
export function parseSubjectFilter(text: string): NamedSubject {
  if (text === "everybody") return { kind: "everybody" };
  const kind = SUBJECT_KINDS.find((known) => text.startsWith(`${known}:`));
  const value = kind === undefined ? "" : text.slice(kind.length + 1);
  if (kind === undefined || value === "")
    throw refuse("subject", "subject is principal:NAME, key:ID, relay_token:ID, tag:KEY:VALUE or everybody.");
  if (kind === "principal") return { kind, name: value };
  if (kind !== "tag") return { kind, id: value };
  const pair = normaliseTag(value);
  if (pair === null) throw refuse("subject", "A tag is key:value: subject is tag:KEY:VALUE.");
  return { kind, pair };
}

/** Any name: the relay passes models on that no catalog has. */
function parseModel(model: string | undefined): string | null {
  if (model === undefined) return null;
  if (model === "" || codePointLength(model) > UPSTREAM_NAME_LENGTH_MAX || !isStorable(model)) {
    throw refuse("subject.model", `A model's name is 1 to ${UPSTREAM_NAME_LENGTH_MAX} characters.`);
  }
  return model;
}

function parseEach(text: string): LimitEach {
  if (text === "principal" || text === "key") return { kind: text };
  const key = text.startsWith("tag:") ? text.slice("tag:".length).trim().toLowerCase() : "";
  if (!TAG_KEY_PATTERN.test(key) || key.length > TAGS_BYTES_MAX) {
    throw refuse("each", "each is principal, key or tag:<key>.");
  }
  return { kind: "tag", key };
}

function parseFixed(fixed: boolean, subject: NamedSubject, each: LimitEach | null): boolean {
  if (fixed && subject.kind !== "tag" && each?.kind !== "tag") {
    throw refuse("fixed", "Only a limit of a tag, or for each value of one, can count fixed tags alone.");
  }
  return fixed;
}

/** In pico for cost, exact to twelve decimals; else a whole number. */
function parseAmount(measure: LimitMeasure, amount: number): bigint {
  if (measure !== "cost") {
    if (!Number.isSafeInteger(amount) || amount < 1) {
      throw refuse("amount", `An amount of ${MEASURES[measure].noun} is a whole number above 0.`);
    }
    return BigInt(amount);
  }
  const pico = amount > 0 && amount <= COST_MAX ? toPico(amount) : null;
  if (pico === null || pico === 0n) {
    throw refuse(
      "amount",
      `A cost is above 0, at most ${COST_MAX}, and has ${COST_DECIMALS_MAX} decimals at most.`,
    );
  }
  return pico;
}

/** From the shortest decimal text of the number, which is what was written; null for more decimals. */
function toPico(amount: number): bigint | null {
  const [mantissa = "", exponent = "0"] = amount.toString().split("e");
  const [whole = "", fraction = ""] = mantissa.split(".");
  const shift = COST_DECIMALS_MAX + Number(exponent) - fraction.length;
  return shift < 0 ? null : BigInt(whole + fraction) * 10n ** BigInt(shift);
}

function parseWindow(measure: LimitMeasure, text: string | undefined): Limit["window"] {
  if (measure === "concurrent") {
    if (text === undefined) return null;
    throw refuse("window", "A limit of concurrent requests has no window.");
  }
  return parseWord(text ?? "", LIMIT_WINDOWS, "window");
}

function parseUnpriced(measure: LimitMeasure, text: string): Limit["unpriced"] {
  const rule = parseWord(text, UNPRICED_RULES, "unpriced");
  if (rule === "refuse" && measure !== "cost") {
    throw refuse("unpriced", "Only a limit of cost can refuse what has no price.");
  }
  return rule;
}

function parseUnknown(measure: LimitMeasure, unknown: number | null): number | null {
  if (unknown === null) return null;
  if (measure === "concurrent")
    throw refuse("unknown", "A limit of concurrent requests has no window in which requests end.");
  if (!Number.isSafeInteger(unknown) || unknown < 1)
    throw refuse("unknown", "unknown is a whole number of requests above 0, or null for any number.");
  return unknown;
}

function refuse(param: string, message: string): ProxyError {
  return new ProxyError("invalid_request", message, { param });
}
