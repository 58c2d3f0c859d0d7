import type { AuditAction, AuditEvent } from "#audit/event.ts";

/** A mutation's change → wire JSON. */
export function toChangeView({ action, change }: Pick<AuditEvent, "action" | "change">) {
  if (change === null) return null;
  const { label, fields, omitted } = change;
  return { label, sentence: toChangeSentence(action, fields, omitted), fields: [...fields], omitted };
}

/** Characters of a sentence, which stands in one line: the fields have the rest. */
const SENTENCE_LENGTH_MAX = 240;

/** A field of an event, as the interface has it. */
interface ToldField {
  readonly field: string;
  readonly before: unknown;
  readonly after: unknown;
  readonly secret?: true;
}

/** The change for people: `role member → admin`, `input tokens $2.50 → $3.00`; empty where no field differs. */
export function toChangeSentence(action: AuditAction, fields: readonly ToldField[], omitted = 0): string {
  const isWhole = /\.(?:create|delete|load)$/.test(action);
  const parts: string[] = [];
  let length = 0;
  const steps = fields.flatMap(toSteps);
  for (const step of steps) {
    const part = toPart(step, isWhole);
    length += part.length + 2;
    if (length > SENTENCE_LENGTH_MAX && parts.length > 0) break;
    parts.push(cutText(part, SENTENCE_LENGTH_MAX));
  }
  const left = steps.length - parts.length + omitted;
  return left === 0 ? parts.join(", ") : `${parts.join(", ")} and ${left} more`;
}

interface Step extends Omit<ToldField, "field"> {
  readonly name: string;
  readonly isPrice: boolean;
}

/** A field whose value has fields of its own, such as prices by unit, is told by those of them that differ. */
function toSteps({ field, before, after, secret }: ToldField): readonly Step[] {
  const isPrice = /^pricing(?:\.|$)/.test(field);
  const [was, is] = [toMembers(before), toMembers(after)];
  const isSplit = isPrice || (before !== null && after !== null);
  if (was === null || is === null || !isSplit)
    return [{ name: toWords(field), before, after, isPrice, ...(secret === true && { secret }) }];
  const prefix = field === "pricing" || field === "subject" ? "" : `${toWords(field)} `;
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])];
  return names.flatMap((name): Step[] => {
    const [from, to] = [was[name] ?? null, is[name] ?? null];
    if (JSON.stringify(from) === JSON.stringify(to)) return [];
    return [{ name: `${prefix}${toWords(name)}`, before: from, after: to, isPrice }];
  });
}

/** Null of a value without fields. */
function toMembers(value: unknown): { readonly [name: string]: unknown } | null {
  if (value === null) return {};
  return typeof value === "object" && !isList(value) ? { ...value } : null;
}

function toPart({ name, before, after, secret, isPrice }: Step, isWhole: boolean): string {
  if (secret === true) return `${name} ${before === null ? "set" : after === null ? "removed" : "replaced"}`;
  const format = (value: unknown) => toValueWords(value, isPrice);
  if (isWhole && (before === null || after === null)) return `${name} ${format(after ?? before)}`;
  if (isList(before) || isList(after)) {
    const [was, is] = [toTexts(before), toTexts(after)];
    const added = is.filter((text) => !was.includes(text)).map((text) => `+${text}`);
    const gone = was.filter((text) => !is.includes(text)).map((text) => `−${text}`);
    if (is.length > 0 && was.length > 0 && added.length + gone.length > 0)
      return `${name} ${[...added, ...gone].join(" ")}`;
  }
  return `${name} ${format(before)} → ${format(after)}`;
}

function toTexts(value: unknown): readonly string[] {
  return isList(value) ? value.map((each) => toValueWords(each)) : [];
}

/** As the interface writes an instant. */
const INSTANT = /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d):\d\d\.\d{6}Z$/;

/** A value in words: `none`, `yes`, `chat completions`. */
export function toValueWords(value: unknown, isPrice = false): string {
  if (value === null || value === undefined || value === "" || (isList(value) && value.length === 0))
    return "none";
  if (value === true || value === false) return value ? "yes" : "no";
  if (isList(value)) return value.map((each) => toValueWords(each, isPrice)).join(" ");
  if (typeof value === "object")
    return Object.entries(value)
      .map(([name, member]) => `${toWords(name)} ${toValueWords(member, isPrice || name === "pricing")}`)
      .join(", ");
  if (isPrice && typeof value === "number") return toDollars(value);
  return typeof value === "string" ? value.replace(INSTANT, "$1 $2 UTC") : JSON.stringify(value);
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}

/** A price per million units, exact. */
function toDollars(price: number): string {
  return `$${price.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 12 })}`;
}

/** `expires_at` → `expires at`; behind a dot stands a name, which stays as it is. */
export function toWords(field: string): string {
  const [head = "", ...rest] = field.split(".");
  if (rest.length === 0) return head.replaceAll("_", " ");
  const name = rest.join(".");
  return head === "pricing" ? name : `${name} ${head.replaceAll("_", " ")}`;
}

function cutText(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}
