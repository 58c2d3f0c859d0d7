import { Badge } from "../components/chip.tsx";
import { TextField, type TextFieldProps } from "../components/text-field.tsx";

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
