import { useMutation } from "@tanstack/react-query";
import { type SubmitEvent, useId, useState } from "react";
import { isName, NAME_LENGTH_MAX } from "#kernel/text.ts";
import { createPrincipal, type PrincipalDraft } from "../../../api/people.ts";
import { Button } from "../../../components/button.tsx";
import { Dialog } from "../../../components/dialog.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { toFieldError } from "../../../components/field-frame.tsx";
import { SelectField } from "../../../components/select-field.tsx";
import { TextField } from "../../../components/text-field.tsx";

export interface CreatePrincipalProps {
  readonly onClose: () => void;
  readonly onCreated: (principal: { readonly id: string; readonly name: string }) => void;
}

type Kind = NonNullable<PrincipalDraft["kind"]>;
type Role = NonNullable<PrincipalDraft["role"]>;

/** Adds a person or a service that can call models. */
export function CreatePrincipal({ onClose, onCreated }: CreatePrincipalProps) {
  const [name, setName] = useState("");
  const [kind, setKind] = useState<Kind>("user");
  const [role, setRole] = useState<Role>("member");
  const form = useId();
  const create = useMutation({ ...createPrincipal, onSuccess: onCreated });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (!create.isPending) create.mutate({ name, kind, role });
  };
  const nameError =
    name !== "" && !isName(name)
      ? `Use 1 to ${NAME_LENGTH_MAX} characters: a–z, 0–9, dot, dash and underscore, beginning with a letter or digit`
      : toFieldError(create.error, "name");
  return (
    <Dialog
      open
      onOpenChange={(next) => !next && onClose()}
      title="Add person or service"
      size="sm"
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            type="submit"
            form={form}
            variant="primary"
            busy={create.isPending}
            disabled={!isName(name)}
          >
            Add
          </Button>
        </>
      }
    >
      <form id={form} onSubmit={submit} className="flex flex-col gap-3">
        <TextField
          label="Name"
          required
          autoFocus
          mono
          autoComplete="off"
          value={name}
          onValueChange={(next) => {
            setName(next);
            create.reset();
          }}
          error={nameError}
          hint="Shown in reports and cannot be changed. Lower-case letters, digits, dot, dash and underscore, such as ada.lovelace or ci-runner."
        />
        <SelectField
          label="Kind"
          value={kind}
          options={[
            { value: "user", label: "User", detail: "A person" },
            { value: "service", label: "Service", detail: "A program with its own keys" },
          ]}
          onValueChange={setKind}
        />
        <SelectField
          label="Role"
          value={role}
          options={[
            { value: "member", label: "Member", detail: "Calls models and sees the team’s usage" },
            { value: "admin", label: "Admin", detail: "Also manages providers, models, people and keys" },
          ]}
          onValueChange={setRole}
        />
        {create.error !== null && <ErrorNotice failure={create.error} />}
      </form>
    </Dialog>
  );
}
