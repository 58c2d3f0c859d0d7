import { type ReactNode, useState } from "react";
import type { Change } from "../api/changing.ts";
import type { KeyRotation, SecretDraft } from "../api/people.ts";
import { SwitchField } from "../components/choice-field.tsx";
import { SelectField } from "../components/select-field.tsx";
import { FormDialog } from "../form/form.tsx";
import { useForm } from "../form/use-form.ts";
import { SecretLimits } from "../limits/held-limits.tsx";
import {
  type CreatedSecret,
  KEY,
  type RotatedKey,
  type SecretKind,
  type SecretRow,
  type SecretUpdate,
  toSecretName,
} from "./secret-kind.ts";
import { RevealDialog, type RevealDialogProps } from "./secret-reveal.tsx";
import {
  findTermFaults,
  NOTHING_TYPED,
  SECRET_TERMS,
  TermFields,
  toDraft,
  toPatch,
  toTyped,
} from "./secret-terms.tsx";

export interface CreateSecretProps {
  readonly kind: SecretKind;
  readonly onClose: () => void;
  readonly change: Change<SecretDraft, CreatedSecret>;
  /** The owner's name, when it is another principal. */
  readonly owner?: string | undefined;
  /** The button that opened the dialog. */
  readonly toFinalFocus: () => HTMLElement | null;
}

type Created = Pick<RevealDialogProps, "secret" | "models" | "expiresAt">;

/** Asks for a label and terms, creates the secret and shows it once. */
export function CreateSecret(props: CreateSecretProps): ReactNode {
  const { kind, onClose, owner, toFinalFocus } = props;
  const [created, setCreated] = useState<Created | null>(null);
  if (created === null) {
    return (
      <AskForSecret
        {...props}
        onCreated={(secret, { models, expires_at: at }) =>
          setCreated({
            secret: "key" in secret ? secret.key : secret.token,
            models,
            expiresAt: typeof at === "string" ? at : undefined,
          })
        }
      />
    );
  }
  return (
    <RevealDialog
      {...created}
      kind={kind}
      title={owner === undefined ? `Your new ${kind.noun}` : `The new ${kind.noun} of ${owner}`}
      onClose={onClose}
      owner={owner}
      toFinalFocus={toFinalFocus}
    />
  );
}

interface AskForSecretProps extends CreateSecretProps {
  readonly onCreated: (secret: CreatedSecret, draft: SecretDraft) => void;
}

function AskForSecret({ kind, onClose, owner, change, onCreated, toFinalFocus }: AskForSecretProps) {
  const form = useForm({
    name: "create-secret",
    // A key that is made for another person is for a program's calls; its owner makes one of every scope.
    begin: { ...NOTHING_TYPED, isForInference: kind.hasModels && owner !== undefined },
    terms: SECRET_TERMS,
    check: findTermFaults,
    change,
    toAsked: toDraft,
    onSaved: onCreated,
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title={`Create a ${kind.noun}${owner === undefined ? "" : ` for ${owner}`}`}
      size="sm"
      submit={`Create ${kind.noun}`}
      underWay="Creating…"
      toFinalFocus={toFinalFocus}
    >
      <TermFields form={form} hasModels={kind.hasModels} hasTags={owner !== undefined} />
    </FormDialog>
  );
}

export interface EditSecretProps {
  readonly row: SecretRow;
  readonly kind: SecretKind;
  readonly change: Change<SecretUpdate, unknown>;
  readonly onClose: () => void;
}

/** Label, expiry, models, scope and pause of a key or a relay token, with its limits beneath. */
export function EditSecret({ row, kind, change, onClose }: EditSecretProps): ReactNode {
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
    done: () => ({ title: `Changed ${kind.noun} ${name}`, body: "Applies from the next request." }),
    onClose,
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title={`Edit ${kind.noun} ${name}${toOfOwner(row)}`}
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

/** ` of ada` for a secret of another principal. */
export function toOfOwner({ owner }: SecretRow): string {
  return owner === undefined ? "" : ` of ${owner}`;
}

export interface RotateKeyProps {
  readonly row: SecretRow;
  readonly change: Change<KeyRotation, RotatedKey>;
  readonly onClose: () => void;
}

const GRACES = [
  { value: "0", label: "Stops immediately" },
  { value: "3600", label: "Works for 1 hour" },
  { value: "86400", label: "Works for 1 day" },
  { value: "604800", label: "Works for 7 days" },
] as const;

const AT_ONCE: { readonly grace: (typeof GRACES)[number]["value"] } = { grace: "0" };

/** Asks how long the old secret goes on working, and shows the new one once. */
export function RotateKey({ row, change, onClose }: RotateKeyProps): ReactNode {
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
      title={`Rotate the key ${name}${toOfOwner(row)}?`}
      description="It gets a new secret, which is shown once. Its label, expiry, models and usage stay. A secret from before the last rotation stops immediately."
      size="sm"
      submit="Rotate key"
      underWay="Rotating…"
    >
      <SelectField label="Old secret" {...form.field("grace")} options={GRACES} />
    </FormDialog>
  );
}
