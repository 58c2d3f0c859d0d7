import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { deletePrincipal, revokeSessions, updatePrincipal } from "../../../api/people.ts";
import { Button } from "../../../components/button.tsx";
import { SwitchField } from "../../../components/choice-field.tsx";
import { ConfirmDialog } from "../../../components/confirm-dialog.tsx";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { SelectField } from "../../../components/select-field.tsx";
import { useToast } from "../../../components/toast.tsx";
import type { Person } from "./people-list.ts";

export interface PrincipalAccessProps {
  readonly person: Person;
  /** They are who is signed in. */
  readonly isSelf: boolean;
  readonly onDeleted: () => void;
}

/** What a principal may do, and the ways to stop it. */
export function PrincipalAccess({ person, isSelf, onDeleted }: PrincipalAccessProps) {
  const { id, name, role, isEnabled, stored } = person;
  const [asking, setAsking] = useState<Asking | null>(null);
  const { notify } = useToast();
  const done = (title: string, body?: string) => {
    notify({ title, body, tone: "good" });
    setAsking(null);
  };
  const update = useMutation({
    ...updatePrincipal,
    onSuccess: ({ role: now, enabled }) =>
      done(`${name} is ${enabled ? `enabled, as ${now === "admin" ? "an admin" : "a member"}` : "disabled"}`),
  });
  const revoke = useMutation({
    ...revokeSessions,
    onSuccess: (revoked) =>
      done(
        revoked === 1 ? "1 session ended" : `${revoked} sessions ended`,
        "Keys and relay tokens still work.",
      ),
  });
  const remove = useMutation({
    ...deletePrincipal,
    onSuccess: () => {
      done(`${name} deleted`, "Past usage stays in the reports.");
      onDeleted();
    },
  });
  const failure = update.error ?? revoke.error ?? remove.error;
  const ask = (what: Asking) => {
    update.reset();
    revoke.reset();
    remove.reset();
    setAsking(what);
  };
  const change = (patch: { readonly role?: Person["role"]; readonly enabled?: boolean }) =>
    update.mutate({ id, patch, from: stored });
  return (
    <div className="flex flex-col gap-4">
      <SelectField
        label="Role"
        value={role}
        disabled={update.isPending}
        options={[
          { value: "member", label: "Member", detail: "Calls models and sees the team’s usage" },
          { value: "admin", label: "Admin", detail: "Also manages providers, models, people and keys" },
        ]}
        onValueChange={(next) => {
          if (next === role) return;
          if (next === "admin") change({ role: next });
          else ask("demote");
        }}
      />
      <SwitchField
        label="Enabled"
        checked={isEnabled}
        disabled={update.isPending}
        onCheckedChange={(enabled) => (enabled ? change({ enabled }) : ask("disable"))}
        hint={
          isEnabled
            ? "Disabling refuses every key, relay token and session immediately. Enabling restores them."
            : "Every key, relay token and session is refused. Enabling restores them."
        }
      />
      {asking === null && failure !== null && <ErrorNotice failure={failure} />}
      <div className="flex flex-wrap gap-2">
        <Button icon="sign-out" onClick={() => ask("revoke")}>
          End sessions
        </Button>
        <Button icon="trash" onClick={() => ask("delete")}>
          Delete {person.kind === "service" ? "service" : "person"}
        </Button>
      </div>
      {asking !== null && (
        <ConfirmDialog
          open
          onOpenChange={(next) => !next && setAsking(null)}
          {...toQuestion(asking, person, isSelf)}
          danger={asking !== "revoke"}
          busy={update.isPending || revoke.isPending || remove.isPending}
          notice={failure !== null && <ErrorNotice failure={failure} />}
          onConfirm={() => {
            if (asking === "demote") change({ role: "member" });
            else if (asking === "disable") change({ enabled: false });
            else if (asking === "revoke") revoke.mutate(id);
            else remove.mutate({ id, from: stored });
          }}
        />
      )}
    </div>
  );
}

/** What is asked about before it is done. */
type Asking = "demote" | "disable" | "revoke" | "delete";

interface Question {
  readonly title: string;
  readonly body: string;
  readonly confirmLabel: string;
  /** To be typed first: it cannot be undone. */
  readonly requireText?: string;
}

/** What will stop, and what stays. `isSelf`: they are who is signed in. */
function toQuestion(asking: Asking, person: Person, isSelf: boolean): Question {
  return QUESTION[asking](person, isSelf ? " This is your own account: you lose access to these pages." : "");
}

const QUESTION = {
  demote: ({ name }, self) => ({
    title: `Make ${name} a member?`,
    body: `They keep their keys and lose access to administration immediately.${self}`,
    confirmLabel: "Make member",
  }),
  disable: (person, self) => ({
    title: `Disable ${person.name}?`,
    body: `${toSecrets(person)} and all sessions are refused immediately. Nothing is deleted: enabling restores them.${self}`,
    confirmLabel: "Disable",
  }),
  revoke: ({ name }, self) => ({
    title: `End every session of ${name}?`,
    body: `Every browser has to sign in again. Keys and relay tokens still work.${self}`,
    confirmLabel: "End sessions",
  }),
  delete: (person, self) => ({
    title: `Delete ${person.name}?`,
    body: `${toSecrets(person)} and all sessions are deleted too and cannot be restored. Past usage stays in the reports under this name.${self}`,
    confirmLabel: "Delete",
    requireText: person.name,
  }),
} as const satisfies Record<Asking, (person: Person, self: string) => Question>;

function toSecrets({ keyCount, tokenCount }: Person): string {
  return `${toCount(keyCount, "key")}, ${toCount(tokenCount, "relay token")}`;
}

function toCount(count: number, noun: string): string {
  return count === 1 ? `1 ${noun}` : `${count} ${noun}s`;
}
