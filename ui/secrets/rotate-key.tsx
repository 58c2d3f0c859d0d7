import { useState } from "react";
import type { Change } from "../api/changing.ts";
import type { KeyRotation, RotatedKey } from "../api/secret-change.ts";
import { SelectField } from "../components/select-field.tsx";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { RevealDialog } from "./reveal-dialog.tsx";
import { KEY, toSecretName, type SecretRow } from "./secret-row.ts";

export interface RotateKeyProps {
  readonly row: SecretRow;
  readonly change: Change<KeyRotation, RotatedKey>;
  readonly onClose: () => void;
}

const GRACES = [
  { value: "0", label: "Stops at once" },
  { value: "3600", label: "Works for 1 hour" },
  { value: "86400", label: "Works for 1 day" },
  { value: "604800", label: "Works for 7 days" },
] as const;

const AT_ONCE: { readonly grace: (typeof GRACES)[number]["value"] } = { grace: "0" };

/** Asks how long the old secret goes on working, and shows the new one once. */
export function RotateKey({ row, change, onClose }: RotateKeyProps) {
  const [secret, setSecret] = useState<string | null>(null);
  const name = toSecretName(row);
  const form = useForm({
    name: "rotate-key",
    begin: AT_ONCE,
    change,
    toAsked: ({ grace }) => ({ id: row.id, graceSeconds: Number(grace) }),
    onSaved: ({ key }) => setSecret(key),
  });
  if (secret !== null) {
    return (
      <RevealDialog
        secret={secret}
        kind={KEY}
        models={row.models ?? undefined}
        title={`The new secret of ${name}`}
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title={`Rotate the key ${name}${row.owner === undefined ? "" : ` of ${row.owner}`}?`}
      description="It gets a new secret, which is shown once. Its label, expiry, models and usage stay. A secret from before the last rotation stops at once."
      size="sm"
      submit="Rotate key"
      underWay="Rotating…"
    >
      <SelectField label="Old secret" {...form.field("grace")} options={GRACES} />
    </FormDialog>
  );
}
