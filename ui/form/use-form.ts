import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { toShownName, type ViewOf } from "#kernel/fields.ts";
import { STORED_FIELDS, type StoredKind, toEntityTag, toStoredFields } from "#views/entity-tag.ts";
import { useMutation, type UseMutationOptions } from "@tanstack/react-query";
import { type SubmitEvent, useId, useMemo, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { focusInvalid, toFieldError } from "../components/field-frame.tsx";
import type { ToastMessage } from "../components/toast-messages.ts";
import { useToast } from "../components/toast.tsx";
import { findFault, type RequestTerms } from "./terms.ts";

export interface FormOptions<Values extends object, Asked, Answered> {
  /** Its name among all forms, such as `create-limit`; `tests/browser/forms.test.ts` has an entry for each. */
  readonly name: string;
  /** What stands in the fields until something is typed; fields that were not changed follow it. */
  readonly begin: Values;
  /** `createLimit`: what `useMutation` takes. */
  readonly change: UseMutationOptions<Answered, Error, Asked>;
  /** What to send; null when there is nothing to save. `from` is the view of `stored` that the form was made from. */
  readonly toAsked: (values: Values, from: object | undefined) => Asked | null;
  /** What is told when it is saved. */
  readonly done?: ((answer: Answered, asked: Asked) => ToastMessage) | undefined;
  readonly onSaved?: ((answer: Answered, asked: Asked) => void) | undefined;
  /** Closes what the form stands in, after it is saved and when there is nothing to save. */
  readonly onClose?: (() => void) | undefined;
  /** What is changed, as the server has it now: what moved since the form was made from it is told, and not written over. */
  readonly stored?: Stored | undefined;
  /** `readTerms("LimitCreateRequest")`, the server's own; its keys are the paths that `field` is asked with. */
  readonly terms?: RequestTerms | undefined;
  /** What is wrong beyond the terms, by path; it is shown as the terms' faults are. */
  readonly check?: ((values: Values) => { readonly [path: string]: string | undefined }) | undefined;
}

/** What a field takes: spread it, as `<TextField label="Name" {...form.field("name")} />`. */
export interface FieldBinding<Value> {
  readonly name: string;
  readonly value: Value;
  readonly onValueChange: (value: Value) => void;
  readonly required: boolean;
  readonly error: string | undefined;
}

export interface Form<Values extends object> {
  readonly name: string;
  /** The id of the `<form>`, for a button that stands outside of it. */
  readonly id: string;
  readonly values: Values;
  readonly set: (part: Partial<Values>) => void;
  /** Puts back what the fields began with. */
  readonly reset: () => void;
  readonly isTouched: () => boolean;
  readonly isChanged: boolean;
  readonly isPending: boolean;
  /** Why the last try to save failed; null once something is changed. */
  readonly failure: Error | null;
  /** `path` is the field's name in the request, where it has another one there. */
  readonly field: <Key extends keyof Values & string>(key: Key, path?: string) => FieldBinding<Values[Key]>;
  /** What is wrong with a field, for what `field` does not fit. */
  readonly findError: (key: keyof Values & string, path?: string) => string | undefined;
  readonly onLeave: (key: string) => void;
  /** What was changed elsewhere since something was typed here; nothing is sent before `acceptMoved` or `reset`. */
  readonly moved: readonly MovedField[];
  /** What is typed is from now on made from what is there now. */
  readonly acceptMoved: () => void;
  readonly submit: (event: SubmitEvent<HTMLFormElement>) => void;
}

interface Typed<Values> {
  readonly values: Values;
  readonly keys: ReadonlySet<keyof Values>;
}

/**
 * A form: what was typed, what is wrong with it by the server's own schema, and its way to the server. Draw it with
 * `<FormDialog form={form}>`, or with `<Form form={form}>` and `<SubmitButton form={form}>`: what was typed then
 * outlives Esc, a press outside, another address, a reload, an ended session and a server that is away, or is asked about
 * first. Values are plain JSON. The first wrong field gets the focus at submit; the fields of a refusal get theirs; a second
 * submit waits for the first.
 */
export function useForm<Values extends object, Asked, Answered>(
  options: FormOptions<Values, Asked, Answered>,
): Form<Values> {
  const { name, begin, change, toAsked, done, onSaved, onClose, stored, terms = {}, check } = options;
  const { notify } = useToast();
  const id = useId();
  const [typed, setTyped] = useState<Typed<Values> | null>(null);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const [isAttempted, setAttempted] = useState(false);
  const isSending = useRef(false);
  // Told apart from the state, which is only as new as the last drawing: an address may change right after saving.
  const isSettled = useRef(true);
  const values = toValues(begin, typed);
  const isChanged = JSON.stringify(values) !== JSON.stringify(begin);
  const [madeFrom, setMadeFrom] = useState(stored);
  // Until something is typed, the form is made of what it shows.
  if ((typed === null || !isChanged) && !isSameStored(madeFrom, stored)) setMadeFrom(stored);
  const moved = useMemo(() => findMoved(madeFrom, stored), [madeFrom, stored]);

  const reset = () => {
    isSettled.current = true;
    setTyped(null);
    setLeft(new Set());
    setAttempted(false);
    save.reset();
  };
  const save = useMutation({
    ...change,
    onSuccess: (answer: Answered, asked: Asked) => {
      isSending.current = false;
      isSettled.current = true;
      if (stored !== undefined && answer instanceof Object) setMadeFrom({ ...stored, view: answer });
      if (done !== undefined) notify({ tone: "good", ...done(answer, asked) });
      onSaved?.(answer, asked);
      onClose?.();
    },
    onError: () => {
      isSending.current = false;
    },
  });
  const set = (part: Partial<Values>) => {
    isSettled.current = false;
    if (save.error !== null) save.reset();
    setTyped((before) => {
      const keys = new Set(before?.keys);
      for (const key in part) keys.add(key);
      return { values: { ...toValues(begin, before), ...part }, keys };
    });
  };
  const faults = check?.(values) ?? {};
  const findError = (key: keyof Values & string, path: string = key) => {
    const refusal = toFieldError(save.error, path);
    const isShown = isAttempted || (left.has(key) && typed?.keys.has(key) === true);
    if (refusal !== undefined || !isShown) return refusal;
    return (terms[path] && findFault(values[key], terms[path])) ?? faults[path];
  };
  return {
    name,
    id,
    values,
    set,
    reset,
    isTouched: () => {
      const element = document.getElementById(id);
      // A number that cannot be read is typed all the same, and is in no value.
      return !isSettled.current && (isChanged || element?.querySelector("[aria-invalid=true]") !== null);
    },
    isChanged,
    isPending: save.isPending,
    failure: save.error,
    findError,
    field: (key, path = key) => ({
      name: key,
      value: values[key],
      onValueChange: (value) => set(toPart<Values, typeof key>(key, value)),
      required: terms[path]?.isRequired ?? false,
      error: findError(key, path),
    }),
    moved,
    acceptMoved: () => setMadeFrom(stored),
    onLeave: (key) => setLeft((before) => (before.has(key) ? before : new Set([...before, key]))),
    submit: (event) => {
      event.preventDefault();
      event.stopPropagation();
      if (isSending.current) return;
      if (moved.length > 0) return event.currentTarget.querySelector<HTMLElement>("[data-moved]")?.focus();
      flushSync(() => setAttempted(true));
      if (focusInvalid(event.currentTarget)) return;
      const asked = toAsked(values, madeFrom?.view);
      if (asked === null) return onClose?.();
      isSending.current = true;
      // Once what is shown has been asked for again, the fields follow it.
      save.mutate(asked, { onSuccess: () => isSettled.current && setTyped(null) });
    },
  };
}

/** What was changed stays; all else follows what is known. */
function toValues<Values extends object>(begin: Values, typed: Typed<Values> | null): Values {
  const values = { ...begin };
  for (const key of typed?.keys ?? []) if (typed !== null) values[key] = typed.values[key];
  return values;
}

function toPart<Values extends object, Key extends keyof Values>(
  key: Key,
  value: Values[Key],
): Partial<Values> {
  const part: Partial<Values> = {};
  part[key] = value;
  return part;
}

/** What a form changes, as the server told it. */
interface Stored {
  readonly kind: StoredKind;
  readonly view: object;
}

interface MovedField {
  readonly label: string;
  readonly was: string;
  readonly now: string;
}

function isSameStored(one: Stored | undefined, other: Stored | undefined): boolean {
  if (one === undefined || other === undefined) return one === other;
  return one.view === other.view || toEntityTag(one.kind, one.view) === toEntityTag(other.kind, other.view);
}

/** The fields that another person, or another tab, has changed since `from`. */
function findMoved(from: Stored | undefined, now: Stored | undefined): readonly MovedField[] {
  if (from === undefined || now === undefined || isSameStored(from, now)) return [];
  const before = new Map(toStoredFields(from.kind, from.view));
  return toStoredFields(now.kind, now.view).flatMap(([field, value]) => {
    const was = toWords(before.get(field));
    const next = toWords(value);
    return was === next ? [] : [{ label: LABELS[field] ?? field, was, now: next }];
  });
}

type StoredField = (typeof STORED_FIELDS)[StoredKind][number];

const SETTING_LABELS = Object.fromEntries(
  Object.values(PROVIDER_SETTINGS).map((field) => [toShownName(field), field.label]),
);
const LABELS: { readonly [field: string]: string } = {
  ...SETTING_LABELS,
  name: "Name",
  subject: "Whom it holds for",
  each: "Separately for",
  measure: "Measure",
  amount: "Amount",
  window: "Window",
  action: "Action",
  unpriced: "Models without a price",
  unknown: "Requests without usage",
  fixed: "Fixed tags alone",
  enabled: "Enabled",
  alias: "Alias",
  provider: "Provider",
  upstream_name: "Upstream name",
  capabilities: "Capabilities",
  target: "Target",
  pricing: "Prices",
  price_variants: "Price variants",
  pricing_inherited: "Prices inherited",
  hidden: "Hidden",
  base_url: "Base URL",
  has_credential: "API key stored",
  credential_set_at: "API key set",
  endpoints: "Endpoints",
  kind: "Kind",
  role: "Role",
  tags: "Tags",
} satisfies Record<Exclude<StoredField, keyof ViewOf<typeof PROVIDER_SETTINGS>>, string>;

function toWords(value: unknown): string {
  if (value === null || value === undefined || value === "") return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.length === 0 ? "none" : value.map(toWords).join(", ");
  if (typeof value === "object") {
    const parts = Object.entries(value).map(([name, part]) => `${name} ${toWords(part)}`);
    return parts.length === 0 ? "none" : parts.join(", ");
  }
  return typeof value === "string" ? value : JSON.stringify(value);
}
