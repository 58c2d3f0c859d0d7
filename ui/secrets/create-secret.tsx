import { useMutation } from "@tanstack/react-query";
import { useId, useState, type SubmitEvent } from "react";
import type { Change } from "../api/changing.ts";
import type { SecretDraft } from "../api/secret-change.ts";
import { Button } from "../components/button.tsx";
import { Dialog } from "../components/dialog.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { RevealDialog } from "./reveal-dialog.tsx";
import type { SecretKind } from "./secret-row.ts";
import { NOTHING_TYPED, TermFields, toDraft } from "./term-fields.tsx";

/** The plaintext of a key or of a relay token. */
export type CreatedSecret = { readonly key: string } | { readonly token: string };

export interface CreateSecretProps<Created extends CreatedSecret> {
  readonly kind: SecretKind;
  /** The dialog that asks is open. */
  readonly open: boolean;
  readonly onClose: () => void;
  readonly change: Change<SecretDraft, Created>;
  /** The owner's name, when it is another principal. */
  readonly owner?: string | undefined;
  /** The button that opened the dialog. */
  readonly toFinalFocus: () => HTMLElement | null;
}

/** Asks for a label and terms, creates the secret and shows it once. */
export function CreateSecret<Created extends CreatedSecret>(props: CreateSecretProps<Created>) {
  const { kind, open, onClose, change, owner, toFinalFocus } = props;
  const [typed, setTyped] = useState(NOTHING_TYPED);
  const [created, setCreated] = useState<string | null>(null);
  const form = useId();
  const create = useMutation({
    ...change,
    onSuccess: (secret: Created) => {
      setTyped(NOTHING_TYPED);
      onClose();
      setCreated("key" in secret ? secret.key : secret.token);
    },
  });
  const close = () => {
    create.reset();
    onClose();
  };
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!create.isPending) create.mutate(toDraft(typed));
  };
  return (
    <>
      <Dialog
        open={open}
        onOpenChange={(next) => !next && close()}
        title={`Create a ${kind.noun}${owner === undefined ? "" : ` for ${owner}`}`}
        size="sm"
        footer={
          <>
            <Button onClick={close}>Cancel</Button>
            <Button type="submit" form={form} variant="primary" busy={create.isPending}>
              Create {kind.noun}
            </Button>
          </>
        }
      >
        <form id={form} onSubmit={submit} className="flex flex-col gap-3">
          <TermFields typed={typed} onChange={setTyped} hasModels={kind.hasModels} />
          {create.error !== null && <ErrorNotice failure={create.error} />}
        </form>
      </Dialog>
      {created !== null && (
        <RevealDialog
          secret={created}
          kind={kind}
          title={owner === undefined ? `Your new ${kind.noun}` : `The new ${kind.noun} of ${owner}`}
          onClose={() => setCreated(null)}
          toFinalFocus={toFinalFocus}
        />
      )}
    </>
  );
}
