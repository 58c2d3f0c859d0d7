import type { SecretDraft, SecretPatch } from "../api/people.ts";
import { ModelsField, toAliases } from "../catalog/models-field.tsx";
import { Button } from "../components/button.tsx";
import { SwitchField } from "../components/choice-field.tsx";
import { Badge } from "../components/chip.tsx";
import { TextField, type TextFieldProps } from "../components/text-field.tsx";
import { readTerms } from "../form/read-terms.ts" with { type: "macro" };
import type { Form } from "../form/use-form.ts";
import { toIso } from "../search/window.ts";
import type { SecretRow } from "./secret-kind.ts";

/** What is typed of a key or a relay token; an expiry is text, so that nothing is lost that cannot be read yet. */
export interface TypedTerms {
  readonly label: string;
  readonly expiry: string;
  readonly models: readonly string[];
  /** Text of one more model. */
  readonly typedModel: string;
  /** Fixed tags. */
  readonly tags: string;
  readonly isForInference: boolean;
}

export const NOTHING_TYPED: TypedTerms = {
  label: "",
  expiry: "",
  models: [],
  typedModel: "",
  tags: "",
  isForInference: false,
};

/** What the server says of a key; of a relay token it says the same, but that it has no models. */
export const SECRET_TERMS = readTerms("AdminKeyPatchRequest");

export interface TermFieldsProps {
  readonly form: Pick<Form<TypedTerms>, "field" | "findError" | "values"> & {
    readonly set: (part: Partial<TypedTerms>) => void;
  };
  readonly hasModels: boolean;
  /** Only admins set fixed tags. */
  readonly hasTags: boolean;
}

/** Label, expiry, models, scope and fixed tags of a key or a relay token. */
export function TermFields({ form, hasModels, hasTags }: TermFieldsProps) {
  const expiry = form.field("expiry", "expires_at");
  return (
    <>
      <TextField
        label="Label"
        hint="Optional. Tells it from your others: a machine, an app."
        {...form.field("label")}
        autoFocus
      />
      <div className="flex flex-col gap-1.5">
        <TextField
          label="Expires"
          hint="Optional. Date and time in UTC, such as 2027-01-31 12:00. Requests are refused from then on."
          {...expiry}
        />
        <div className="flex flex-wrap gap-1.5">
          {PRESETS.map(({ label, days }) => (
            <Button key={days} size="sm" onClick={() => expiry.onValueChange(toTypedInstant(inDays(days)))}>
              {label}
            </Button>
          ))}
        </div>
      </div>
      {hasModels && (
        <ModelsField
          chosen={form.values.models}
          typed={form.values.typedModel}
          onChange={form.set}
          error={form.findError("models")}
          hint="Optional. The only models that it may use."
          toMissingNote={({ length }) =>
            `The key is refused for ${length === 1 ? "it until it is added" : "them until they are added"}.`
          }
        />
      )}
      {hasModels && (
        <SwitchField
          label="Inference only"
          hint="It calls models and reads its own usage and limits. It cannot make keys or change anything."
          checked={form.values.isForInference}
          onCheckedChange={(isForInference) => form.set({ isForInference })}
        />
      )}
      {hasTags && <FixedTagsField {...form.field("tags")} />}
    </>
  );
}

const PRESETS = [
  { label: "In 30 days", days: 30 },
  { label: "In 90 days", days: 90 },
  { label: "In a year", days: 365 },
] as const;
const DAY_MS = 86_400_000;

function inDays(days: number): string {
  return toIso(Date.now() + days * DAY_MS);
}

/** `2027-01-31 12:00:00`, in UTC, of an instant of the interface. */
function toTypedInstant(instant: string): string {
  return instant.slice(0, 19).replace("T", " ");
}

/** What the server would refuse of an expiry, by path; in this page's words. */
export function findTermFaults({ expiry }: TypedTerms): { readonly [path: string]: string | undefined } {
  if (expiry.trim() === "") return {};
  const atMs = Date.parse(toInstant(expiry));
  if (Number.isNaN(atMs)) return { expires_at: "Enter a date and time such as 2027-01-31 12:00" };
  return atMs <= Date.now() ? { expires_at: "Enter a later date and time: this one has passed" } : {};
}

/** A space is as good as a T, and UTC needs no Z; anything else is the server's to judge. */
function toInstant(text: string): string {
  const trimmed = text.trim().replace(" ", "T");
  return /(?:Z|[+-]\d{2}:\d{2})$/i.test(trimmed) ? trimmed : `${trimmed}Z`;
}

export function toTyped({ label, expiresAt, models, tags, isForInference }: SecretRow): TypedTerms {
  return {
    label,
    expiry: expiresAt === null ? "" : toTypedInstant(expiresAt),
    models: models ?? [],
    typedModel: "",
    tags: toTypedTags(tags),
    isForInference,
  };
}

export function toDraft(typed: TypedTerms): SecretDraft {
  const { label, expiry, isForInference } = typed;
  const aliases = toAliases(typed.models, typed.typedModel);
  const tags = toTags(typed.tags);
  return {
    label: label.trim(),
    ...(isForInference && { scope: "inference" as const }),
    ...(expiry.trim() !== "" && { expires_at: toInstant(expiry) }),
    ...(aliases.length > 0 && { models: aliases }),
    ...(tags !== null && { tags }),
  };
}

/** Only what was typed anew: a moment that has passed meanwhile is not sent again, and what an admin has set is not touched. */
export function toPatch(before: TypedTerms, typed: TypedTerms): SecretPatch {
  const { label, expires_at, models, tags } = toDraft(typed);
  return {
    ...(typed.label !== before.label && { label }),
    ...(typed.expiry !== before.expiry && { expires_at: expires_at ?? null }),
    ...((models ?? []).join() !== before.models.join() && { models: models ?? null }),
    ...(typed.tags !== before.tags && { tags: tags ?? null }),
    ...(typed.isForInference !== before.isForInference && {
      scope: typed.isForInference ? "inference" : "full",
    }),
  };
}

/** Fixed tags of a person, a key or a relay token: typed as one text, and shown as badges. */
export function FixedTagsField(props: Omit<TextFieldProps, "label" | "hint" | "mono">) {
  return (
    <TextField
      {...props}
      label="Fixed tags"
      mono
      hint="Optional. Up to 8, such as team:search, app:wiki. They are on all usage, and callers cannot change them."
    />
  );
}

export function FixedTagBadges({ tags }: { readonly tags: readonly string[] }) {
  return tags.map((tag) => (
    <Badge key={tag} title={`Fixed tag ${tag}`}>
      {tag}
    </Badge>
  ));
}

export function toTypedTags(tags: readonly string[] | undefined): string {
  return (tags ?? []).join(", ");
}

/** Null for none. */
export function toTags(typed: string): readonly string[] | null {
  const tags = typed.split(/[\s,]+/).filter((tag) => tag !== "");
  return tags.length === 0 ? null : tags;
}
