import { updatePrincipal } from "../../../api/people.ts";
import { useToast } from "../../../components/toast.tsx";
import { FormDialog } from "../../../form/form-dialog.tsx";
import { readTerms } from "../../../form/read-terms.ts" with { type: "macro" };
import { useForm } from "../../../form/use-form.ts";
import { FixedTagsField, toTags, toTypedTags } from "../../../secrets/fixed-tags.tsx";
import type { Person } from "./people-list.ts";

/** The tags that are on all usage of a person or a service. */
export function EditTags({ person, onClose }: { readonly person: Person; readonly onClose: () => void }) {
  const { notify } = useToast();
  const begin = { tags: toTypedTags(person.tags) };
  const form = useForm({
    name: "edit-tags",
    begin,
    terms: readTerms("PrincipalPatchRequest"),
    change: updatePrincipal,
    toAsked: ({ tags }) =>
      tags === begin.tags ? null : { id: person.id, patch: { tags: toTags(tags) }, from: person.stored },
    onSaved: () => {
      notify({
        title: `Changed the fixed tags of ${person.name}`,
        body: "Applies from the next request.",
        tone: "good",
      });
      onClose();
    },
    onUnchanged: onClose,
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title={`Fixed tags of ${person.name}`}
      size="sm"
      submit="Save"
      underWay="Saving…"
    >
      <FixedTagsField {...form.field("tags")} autoFocus />
    </FormDialog>
  );
}
