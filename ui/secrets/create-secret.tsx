import { useState } from "react";
import type { Change } from "../api/changing.ts";
import type { SecretDraft } from "../api/secret-change.ts";
import { FormDialog } from "../form/form-dialog.tsx";
import { useForm } from "../form/use-form.ts";
import { RevealDialog, type RevealDialogProps } from "./reveal-dialog.tsx";
import type { SecretKind } from "./secret-row.ts";
import { findTermFaults, NOTHING_TYPED, SECRET_TERMS, TermFields, toDraft } from "./term-fields.tsx";

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
  const { kind, open, onClose, owner, toFinalFocus } = props;
  const [created, setCreated] = useState<Shown | null>(null);
  return (
    <>
      {open && (
        <AskForSecret
          {...props}
          onCreated={(secret, { models }) => {
            onClose();
            setCreated({ secret: "key" in secret ? secret.key : secret.token, models });
          }}
        />
      )}
      {created !== null && (
        <RevealDialog
          {...created}
          kind={kind}
          title={owner === undefined ? `Your new ${kind.noun}` : `The new ${kind.noun} of ${owner}`}
          onClose={() => setCreated(null)}
          owner={owner}
          toFinalFocus={toFinalFocus}
        />
      )}
    </>
  );
}

type Shown = Pick<RevealDialogProps, "secret" | "models">;

interface AskForSecretProps<Created extends CreatedSecret> extends CreateSecretProps<Created> {
  readonly onCreated: (secret: Created, draft: SecretDraft) => void;
}

/** Mounted with the dialog, so that what was discarded is not there when it opens again. */
function AskForSecret<Created extends CreatedSecret>(props: AskForSecretProps<Created>) {
  const { kind, onClose, owner } = props;
  const form = useForm({
    name: "create-secret",
    begin: NOTHING_TYPED,
    terms: SECRET_TERMS,
    check: findTermFaults,
    change: props.change,
    toAsked: toDraft,
    onSaved: props.onCreated,
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title={`Create a ${kind.noun}${owner === undefined ? "" : ` for ${owner}`}`}
      size="sm"
      submit={`Create ${kind.noun}`}
      underWay="Creating…"
      toFinalFocus={props.toFinalFocus}
    >
      <TermFields form={form} hasModels={kind.hasModels} hasTags={owner !== undefined} />
    </FormDialog>
  );
}
