import type { LimitAction, LimitMeasure, LimitWindow, UnpricedRule } from "#limits/limit.ts";
import { NAME_LENGTH_MAX, truncateCodePoints } from "#kernel/text.ts";
import type { Limit, LimitDraft, LimitPatch } from "../../api/limits.ts";
import { readTerms } from "../../form/read-terms.ts" with { type: "macro" };
import { REQUIRED, type RequestTerms } from "../../form/terms.ts";
import { toActionWords, toAmountWords, toNameWords, toWhomWords } from "../../limits/limit-words.ts";
import type { SecretNames } from "../../limits/secret-names.ts";

export type SubjectKind = "everybody" | "principal" | "key" | "relay_token" | "tag";
/** `together`: all that it holds for share one amount. */
export type EachKind = "together" | "principal" | "key" | "tag";

/** What stands in the fields of a limit. */
export interface LimitForm {
  /** Null: the name follows the other fields. */
  readonly name: string | null;
  readonly who: SubjectKind;
  /** Who in particular, by kind: what was typed for one kind is there when that kind is chosen again. */
  readonly principal: string;
  /** As it is chosen, or its id. */
  readonly key: string;
  readonly relayToken: string;
  readonly tag: string;
  readonly each: EachKind;
  readonly tagKey: string;
  /** Counts only with a tag. */
  readonly fixed: boolean;
  readonly hasModel: boolean;
  /** Counts only with `hasModel`. */
  readonly model: string;
  readonly measure: LimitMeasure;
  /** Null: nothing, or no number. */
  readonly amount: number | null;
  readonly window: LimitWindow;
  readonly action: LimitAction;
  readonly unpriced: UnpricedRule;
  /** Null: any number. */
  readonly unknown: number | null;
  readonly enabled: boolean;
}

const CREATED = readTerms("LimitCreateRequest");
/** A name that is not typed follows the other fields. */
export const LIMIT_TERMS: RequestTerms = { ...CREATED, name: { ...CREATED["name"], isRequired: false } };

export const NEW_LIMIT: LimitForm = {
  name: null,
  who: "everybody",
  principal: "",
  key: "",
  relayToken: "",
  tag: "",
  each: "together",
  tagKey: "",
  fixed: false,
  hasModel: false,
  model: "",
  measure: "cost",
  amount: null,
  window: "month",
  action: "refuse",
  unpriced: "allow",
  unknown: null,
  enabled: true,
};

export interface Recipe {
  readonly label: string;
  readonly form: Partial<LimitForm>;
}

/** Limits that many installations want. Some leave open who they apply to. */
export const RECIPES: readonly Recipe[] = [
  { label: "Each person $50 a month", form: { each: "principal", amount: 50 } },
  { label: "A team $500 a month", form: { who: "tag", tag: "team:", amount: 500 } },
  {
    label: "20 requests a day for each person",
    form: { each: "principal", measure: "requests", amount: 20, window: "day" },
  },
  {
    label: "60 requests a minute for a key",
    form: { who: "key", measure: "requests", amount: 60, window: "minute" },
  },
  { label: "2 concurrent for a model", form: { hasModel: true, measure: "concurrent", amount: 2 } },
  { label: "Warn at $100 a month", form: { amount: 100, action: "warn" } },
];

/** The recipe from the beginning; what was typed stays, also where the recipe does not show it. */
export function toRecipeForm({ form }: Recipe, before: LimitForm): LimitForm {
  const { name, principal, key, relayToken, model } = before;
  return { ...NEW_LIMIT, name, principal, key, relayToken, model, ...form };
}

export function toLimitForm(limit: Limit): LimitForm {
  const { subject, each } = limit;
  return {
    name: limit.name,
    who: toSubjectKind(subject),
    principal: subject.principal ?? "",
    key: subject.key ?? "",
    relayToken: subject.relay_token ?? "",
    tag: subject.tag ?? "",
    each: each === undefined ? "together" : each === "principal" || each === "key" ? each : "tag",
    tagKey: each?.startsWith("tag:") === true ? each.slice("tag:".length) : "",
    fixed: limit.fixed === true,
    hasModel: subject.model !== undefined,
    model: subject.model ?? "",
    measure: limit.measure,
    amount: limit.amount,
    window: limit.window ?? NEW_LIMIT.window,
    action: limit.action,
    unpriced: limit.unpriced ?? NEW_LIMIT.unpriced,
    unknown: limit.unknown ?? null,
    enabled: limit.enabled,
  };
}

function toSubjectKind({ principal, key, relay_token: relayToken, tag }: Limit["subject"]): SubjectKind {
  if (principal !== undefined) return "principal";
  if (key !== undefined) return "key";
  if (relayToken !== undefined) return "relay_token";
  return tag === undefined ? "everybody" : "tag";
}

/** What is not told that the chosen kinds ask for, by path. */
export function findLimitFaults(form: LimitForm): { readonly [path: string]: string | undefined } {
  const { who, principal, key, relayToken, tag, each, tagKey, hasModel, model, name } = form;
  const toFault = (text: string) => (text.trim() === "" ? REQUIRED : undefined);
  return {
    ...(who === "principal" && { "subject.principal": toFault(principal) }),
    ...(who === "key" && { "subject.key": toFault(key) }),
    ...(who === "relay_token" && { "subject.relay_token": toFault(relayToken) }),
    ...(who === "tag" && {
      "subject.tag": (tag.split(":")[1] ?? "").trim() === "" ? "Enter a key, a colon and a value" : undefined,
    }),
    ...(each === "tag" && { each: toFault(tagKey) }),
    ...(hasModel && { "subject.model": toFault(model) }),
    ...(name !== null && { name: toFault(name) }),
  };
}

/** The request that creates it; null while there is no amount. */
export function toLimitDraft(form: LimitForm, names: SecretNames): LimitDraft | null {
  const { measure, amount, window, action, unpriced, unknown } = form;
  if (amount === null) return null;
  return {
    name: toName(form, names),
    ...toScope(form, names),
    measure,
    amount,
    ...(measure !== "concurrent" && { window }),
    action,
    ...(measure === "cost" && { unpriced }),
    ...(measure !== "concurrent" && unknown !== null && { unknown }),
  };
}

/** Only what differs from the limit as it is. */
export function toLimitPatch(form: LimitForm, limit: Limit): LimitPatch {
  const { name, amount, window, action, unpriced, unknown, enabled } = form;
  return {
    ...(name !== null && name !== limit.name && { name }),
    ...(amount !== null && amount !== limit.amount && { amount }),
    ...(limit.window !== undefined && window !== limit.window && { window }),
    ...(action !== limit.action && { action }),
    ...(limit.unpriced !== undefined && unpriced !== limit.unpriced && { unpriced }),
    ...(unknown !== (limit.unknown ?? null) && { unknown }),
    ...(enabled !== limit.enabled && { enabled }),
  };
}

type Scope = Pick<LimitDraft, "subject" | "each" | "fixed">;

function toScope(form: LimitForm, names: SecretNames): Scope {
  const { each, hasModel, model } = form;
  return {
    subject: { ...toSubject(form, names), ...(hasModel && { model: model.trim() }) },
    ...(each !== "together" && { each: each === "tag" ? `tag:${form.tagKey.trim()}` : each }),
    ...(isByTag(form) && form.fixed && { fixed: true }),
  };
}

/** Whether it looks at tags at all. */
export function isByTag({ who, each }: Pick<LimitForm, "who" | "each">): boolean {
  return who === "tag" || each === "tag";
}

function toSubject(
  { who, principal, key, relayToken, tag }: LimitForm,
  { keys, relayTokens }: SecretNames,
): LimitDraft["subject"] {
  switch (who) {
    case "principal":
      return { principal: principal.trim() };
    case "key":
      return { key: keys.get(key) ?? key.trim() };
    case "relay_token":
      return { relay_token: relayTokens.get(relayToken) ?? relayToken.trim() };
    case "tag":
      return { tag: tag.trim() };
    default:
      return {};
  }
}

/** The name as typed, else one that stays true when the amount changes, such as `Each person: requests a day`. */
export function toName(form: LimitForm, names: SecretNames): string {
  if (form.name !== null) return form.name;
  if (form.amount === null || !isToldWhom(form)) return "";
  const what = toNameWords(form.measure, form.window);
  const warns = form.action === "warn" ? ", warning" : "";
  return truncateCodePoints(`${toWords(form, names).whom}: ${what}${warns}`, NAME_LENGTH_MAX);
}

/** The limit that is already the same but for its amount and settings: that one is changed then, and no second one made. */
export function findSameLimit(
  form: LimitForm,
  names: SecretNames,
  limits: readonly Limit[],
): Limit | undefined {
  const { subject, each, fixed = false } = toScope(form, names);
  const window = form.measure === "concurrent" ? undefined : form.window;
  return limits.find(
    (limit) =>
      SUBJECT_PARTS.every((part) => limit.subject[part] === subject[part]) &&
      limit.each === each &&
      (limit.fixed ?? false) === fixed &&
      limit.measure === form.measure &&
      limit.window === window &&
      limit.action === form.action,
  );
}

const SUBJECT_PARTS = ["principal", "key", "relay_token", "tag", "model"] as const;

/** The effect of the limit, in two sentences; null while too little is known. */
export function toMeaning(form: LimitForm, names: SecretNames): string | null {
  const { whom, howMuch } = toWords(form, names);
  if (howMuch === null || !isToldWhom(form)) return null;
  const together = form.each === "together" && form.who !== "key" && form.who !== "relay_token";
  const shared = together && form.who !== "principal" ? " in total" : "";
  const window = form.measure === "concurrent" ? undefined : form.window;
  return `${whom}${shared}: ${howMuch}. ${toActionWords({ action: form.action, window })}`;
}

function toWords(form: LimitForm, names: SecretNames) {
  const { measure, amount, window } = form;
  return {
    whom: toWhomWords(toScope(form, names), names.name),
    howMuch:
      amount === null
        ? null
        : toAmountWords({ measure, amount, window: measure === "concurrent" ? undefined : window }),
  };
}

function isToldWhom(form: LimitForm): boolean {
  return Object.values(findLimitFaults({ ...form, name: null })).every((fault) => fault === undefined);
}
