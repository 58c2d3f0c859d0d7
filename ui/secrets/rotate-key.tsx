import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { Change } from "../api/changing.ts";
import type { KeyRotation, RotatedKey } from "../api/secret-change.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { SelectField } from "../components/select-field.tsx";
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

/** Asks how long the old secret goes on working, and shows the new one once. */
export function RotateKey({ row, change, onClose }: RotateKeyProps) {
  const [grace, setGrace] = useState<(typeof GRACES)[number]["value"]>("0");
  const [secret, setSecret] = useState<string | null>(null);
  const rotate = useMutation({ ...change, onSuccess: ({ key }) => setSecret(key) });
  const name = toSecretName(row);
  if (secret !== null) {
    return <RevealDialog secret={secret} kind={KEY} title={`The new secret of ${name}`} onClose={onClose} />;
  }
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title={`Rotate the key ${name}${row.owner === undefined ? "" : ` of ${row.owner}`}?`}
      description="It gets a new secret, which is shown once. Its label, expiry, models and usage stay. A secret from before the last rotation stops at once."
      size="sm"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="primary"
            busy={rotate.isPending}
            onClick={() => rotate.mutate({ id: row.id, graceSeconds: Number(grace) })}
          >
            Rotate key
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <SelectField label="Old secret" options={GRACES} value={grace} onValueChange={setGrace} />
        {rotate.error !== null && <ErrorNotice failure={rotate.error} />}
      </div>
    </Dialog>
  );
}
