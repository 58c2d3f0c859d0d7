import type { Change } from "../api/changing.ts";
import type { SecretUpdate } from "../api/secret-change.ts";
import { SwitchField } from "../components/choice-field.tsx";
import { useToast } from "../components/toast.tsx";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { SecretLimits } from "../limits/secret-limits.tsx";
import { toSecretName, type SecretKind, type SecretRow } from "./secret-row.ts";
import { findTermFaults, SECRET_TERMS, TermFields, toPatch, toTyped } from "./term-fields.tsx";

export interface EditSecretProps {
  readonly row: SecretRow;
  readonly kind: SecretKind;
  readonly change: Change<SecretUpdate, void>;
  readonly onClose: () => void;
}

/** Label, expiry, models and pause of a key or a relay token. What is refused stays typed. */
export function EditSecret({ row, kind, change, onClose }: EditSecretProps) {
  const { notify } = useToast();
  const name = toSecretName(row);
  const begin = { ...toTyped(row), isPaused: row.isPaused };
  const form = useForm({
    name: "edit-secret",
    begin,
    terms: SECRET_TERMS,
    // A moment that has passed meanwhile is not sent again, so that it stands in no way.
    check: (values) => (values.expiry === begin.expiry ? {} : findTermFaults(values)),
    change,
    toAsked: ({ isPaused, ...typed }) => {
      const patch = { ...toPatch(begin, typed), ...(isPaused !== row.isPaused && { enabled: !isPaused }) };
      return Object.keys(patch).length === 0 ? null : { id: row.id, patch };
    },
    onSaved: () => {
      notify({ title: `Changed ${kind.noun} ${name}`, body: "Applies from the next request.", tone: "good" });
      onClose();
    },
    onUnchanged: onClose,
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title={`Edit ${kind.noun} ${name}${row.owner === undefined ? "" : ` of ${row.owner}`}`}
      size="sm"
      submit="Save"
      underWay="Saving…"
      after={<SecretLimits id={row.id} isKey={kind.noun === "key"} name={name} owner={row.owner} />}
    >
      <TermFields form={form} hasModels={kind.hasModels} hasTags={row.owner !== undefined} />
      <SwitchField
        label="Paused"
        hint="Requests are refused until it is resumed."
        checked={form.values.isPaused}
        onCheckedChange={(isPaused) => form.set({ isPaused })}
      />
    </FormDialog>
  );
}
