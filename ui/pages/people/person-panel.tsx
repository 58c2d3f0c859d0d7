import { toCounted } from "#kernel/text.ts";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { changing } from "../../api/changing.ts";
import {
  ALL_KEYS,
  ALL_RELAY_TOKENS,
  type PrincipalDraft,
  PRINCIPALS,
  revokeSessions,
  type SecretDraft,
} from "../../api/people.ts";
import { Button, buttonClass } from "../../components/button.tsx";
import { Badge } from "../../components/chip.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import { Cost } from "../../components/cost.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { Instant } from "../../components/instant.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";
import { useToast } from "../../components/toast.tsx";
import { FormDialog } from "../../form/form.tsx";
import { readTerms } from "../../form/read-terms.ts" with { type: "macro" };
import { useForm } from "../../form/use-form.ts";
import { PrincipalLimits } from "../../limits/held-limits.tsx";
import { ChangeQuestion, Figures, RemovalFacts, RowPanel, Section } from "../../lists/row-panel.tsx";
import type { Person } from "../people.tsx";
import { CreateSecret } from "../../secrets/secret-dialogs.tsx";
import { KEY, RELAY_TOKEN } from "../../secrets/secret-kind.ts";
import { SecretList } from "../../secrets/secret-list.tsx";
import { FixedTagBadges, FixedTagsField, toTags, toTypedTags } from "../../secrets/secret-terms.tsx";
import { formatCount } from "../../text/format.ts";

export interface PersonPanelProps {
  readonly person: Person;
  /** The person who is signed in. */
  readonly isSelf: boolean;
  readonly onClose: () => void;
}

/** One person or service: access, fixed tags, limits, keys and relay tokens. */
export function PersonPanel({ person, isSelf, onClose }: PersonPanelProps): ReactNode {
  const { name, kind, role, isEnabled, requests } = person;
  const [isCreating, setCreating] = useState(false);
  const [isTagging, setTagging] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const createForThem = useMemo(
    () =>
      changing(
        (draft: SecretDraft) => ALL_KEYS.create.run({ principal: name, ...draft }),
        ALL_KEYS.create.refresh,
      ),
    [name],
  );
  return (
    <RowPanel
      rowId={person.id}
      onClose={onClose}
      title={name}
      description={
        <span className="flex flex-wrap items-center gap-2">
          {kind === "service" ? "Service" : "User"}, {role}
          {isSelf && <Badge>you</Badge>}
          {!isEnabled && <Badge tone="warn">disabled</Badge>}
        </span>
      }
      footer={
        <Link to="/requests" search={{ principal: name }} className={buttonClass({ variant: "secondary" })}>
          Requests
        </Link>
      }
    >
      <Figures
        figures={{
          "Cost, 30 days": <Cost value={person.cost} unpriced={person.isCostPartial} used={requests > 0} />,
          "Requests, 30 days": formatCount(requests),
          "Last used": <Instant value={person.lastUsedAt} format="relative" />,
          Created: <Instant value={person.createdAt} format="date" />,
        }}
      />
      <Section title="Access">
        <Access person={person} isSelf={isSelf} onDeleted={onClose} />
      </Section>
      <Section
        title="Fixed tags"
        action={
          <Button size="sm" icon="edit" onClick={() => setTagging(true)}>
            Change
          </Button>
        }
      >
        <p className="flex flex-wrap gap-1.5 text-ink-soft">
          {person.tags.length === 0 ? (
            "None. A team's budget counts them."
          ) : (
            <FixedTagBadges tags={person.tags} />
          )}
        </p>
        {isTagging && <EditTags person={person} onClose={() => setTagging(false)} />}
      </Section>
      <Section title="Limits">
        <PrincipalLimits name={name} />
      </Section>
      <Section
        title="Keys"
        action={
          <Button ref={opener} size="sm" icon="plus" onClick={() => setCreating(true)}>
            Create a key
          </Button>
        }
      >
        <div className="rounded-card border border-line">
          <SecretList
            kind={KEY}
            caption={`Keys of ${name}`}
            answer={useQuery(ALL_KEYS.list({ principal: name }))}
            layout="panel"
            empty={<None>No keys. Create one and hand it over safely.</None>}
          />
        </div>
      </Section>
      <Section title="Relay tokens">
        <div className="rounded-card border border-line">
          <SecretList
            kind={RELAY_TOKEN}
            caption={`Relay tokens of ${name}`}
            answer={useQuery(ALL_RELAY_TOKENS.list({ principal: name }))}
            layout="panel"
            empty={<None>No relay tokens. People create their own under Relay tokens.</None>}
          />
        </div>
      </Section>
      {isCreating && (
        <CreateSecret
          kind={KEY}
          owner={name}
          onClose={() => setCreating(false)}
          change={createForThem}
          toFinalFocus={() => opener.current}
        />
      )}
    </RowPanel>
  );
}

function None({ children }: { readonly children: ReactNode }) {
  return <p className="px-4 py-3 text-ink-soft">{children}</p>;
}

interface AccessProps extends Pick<PersonPanelProps, "person" | "isSelf"> {
  readonly onDeleted: () => void;
}

/** Role and switch, and the ways to stop a person or a service. */
function Access({ person, isSelf, onDeleted }: AccessProps) {
  const { id, name, role, isEnabled, stored } = person;
  const [asking, setAsking] = useState<Asking | null>(null);
  const { notify } = useToast();
  const toChanged = ({ role: now, enabled }: { readonly role: string; readonly enabled: boolean }) => ({
    title: `${name} is ${enabled ? `enabled, as ${now === "admin" ? "an admin" : "a member"}` : "disabled"}`,
  });
  const update = useMutation({
    ...PRINCIPALS.update,
    onSuccess: (saved) => notify({ tone: "good", ...toChanged(saved) }),
  });
  const change = (patch: object) => update.mutate({ id, patch, from: stored });
  const question = asking && {
    ...QUESTION[asking](person, isSelf ? " This is your own account: you lose access to these pages." : ""),
    onClose: () => setAsking(null),
  };
  return (
    <div className="flex flex-col gap-4">
      <SelectField
        label="Role"
        value={role}
        disabled={update.isPending}
        options={ROLES}
        onValueChange={(next) => {
          if (next === role) return;
          if (next === "admin") change({ role: next });
          else setAsking("demote");
        }}
      />
      <SwitchField
        label="Enabled"
        checked={isEnabled}
        disabled={update.isPending}
        onCheckedChange={(enabled) => (enabled ? change({ enabled }) : setAsking("disable"))}
        hint={
          isEnabled
            ? "Disabling refuses every key, relay token and session immediately. Enabling restores them."
            : "Every key, relay token and session is refused. Enabling restores them."
        }
      />
      {asking === null && update.error !== null && <ErrorNotice failure={update.error} />}
      <div className="flex flex-wrap gap-2">
        <Button icon="sign-out" onClick={() => setAsking("revoke")}>
          End sessions
        </Button>
        <Button icon="trash" onClick={() => setAsking("delete")}>
          Delete {person.kind === "service" ? "service" : "person"}
        </Button>
      </div>
      {question !== null && (asking === "demote" || asking === "disable") && (
        <ChangeQuestion
          {...question}
          change={PRINCIPALS.update}
          wanted={{ id, from: stored, patch: asking === "demote" ? { role: "member" } : { enabled: false } }}
          done={toChanged}
        />
      )}
      {question !== null && asking === "revoke" && (
        <ChangeQuestion
          {...question}
          danger={false}
          change={revokeSessions}
          wanted={id}
          done={(revoked) => ({
            title: `${toCounted(revoked, "session")} ended`,
            body: "Keys and relay tokens still work.",
          })}
        />
      )}
      {question !== null && asking === "delete" && (
        <ChangeQuestion
          {...question}
          change={PRINCIPALS.remove}
          wanted={{ id, from: stored }}
          done={() => ({ title: `${name} deleted`, body: "Past usage stays in the reports." })}
          onDone={onDeleted}
        />
      )}
    </div>
  );
}

/** The changes that are asked about first. */
type Asking = "demote" | "disable" | "revoke" | "delete";

interface Question {
  readonly title: string;
  readonly body: ReactNode;
  readonly confirmLabel: string;
  /** To be typed first: it cannot be undone. */
  readonly requireText?: string;
}

/** What stops, and what stays. `self` is added where it is one’s own account. */
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
  delete: ({ id, name }, self) => ({
    title: `Delete ${name}?`,
    body: (
      <div className="flex flex-col gap-2">
        <RemovalFacts of={PRINCIPALS.removal(id)} />
        <p>This cannot be undone. Past usage stays in the reports under this name.{self}</p>
      </div>
    ),
    confirmLabel: "Delete",
    requireText: name,
  }),
} as const satisfies Record<Asking, (person: Person, self: string) => Question>;

function toSecrets({ keyCount, tokenCount }: Person): string {
  return `${toCounted(keyCount, "key")}, ${toCounted(tokenCount, "relay token")}`;
}

/** The tags that are on all usage of a person or a service. */
function EditTags({ person, onClose }: { readonly person: Person; readonly onClose: () => void }) {
  const begin = { tags: toTypedTags(person.tags) };
  const form = useForm({
    name: "edit-tags",
    begin,
    terms: readTerms("PrincipalPatchRequest"),
    change: PRINCIPALS.update,
    toAsked: ({ tags }) =>
      tags === begin.tags ? null : { id: person.id, patch: { tags: toTags(tags) }, from: person.stored },
    done: () => ({
      title: `Changed the fixed tags of ${person.name}`,
      body: "Applies from the next request.",
    }),
    onClose,
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

interface CreatePrincipalProps {
  readonly onClose: () => void;
  readonly onCreated: (principal: { readonly id: string; readonly name: string }) => void;
}

const ROLES = [
  { value: "member", label: "Member", detail: "Calls models and sees the team’s usage" },
  { value: "admin", label: "Admin", detail: "Also manages providers, models, people and keys" },
] as const;

const NEW: Required<Omit<PrincipalDraft, "tags">> & { readonly tags: string } = {
  name: "",
  kind: "user",
  role: "member",
  tags: "",
};

/** Adds a person or a service that can call models. */
export function CreatePrincipal({ onClose, onCreated }: CreatePrincipalProps) {
  const form = useForm({
    name: "create-principal",
    begin: NEW,
    terms: readTerms("PrincipalCreateRequest"),
    change: PRINCIPALS.create,
    toAsked: ({ tags, ...values }) => ({
      ...values,
      name: values.name.trim(),
      ...(toTags(tags) !== null && { tags: toTags(tags) }),
    }),
    done: ({ name }) => ({ title: `${name} added`, body: "Create a key for them next." }),
    onSaved: onCreated,
  });
  return (
    <FormDialog
      form={form}
      onClose={onClose}
      title="Add person or service"
      size="sm"
      submit="Add"
      underWay="Adding…"
    >
      <TextField
        label="Name"
        {...form.field("name")}
        autoFocus
        mono
        hint="Shown in reports and cannot be changed. Lower-case letters, digits, dot, dash and underscore, such as ada.lovelace or ci-runner."
      />
      <SelectField
        label="Kind"
        {...form.field("kind")}
        options={[
          { value: "user", label: "User", detail: "A person" },
          { value: "service", label: "Service", detail: "A program with its own keys" },
        ]}
      />
      <SelectField label="Role" {...form.field("role")} options={ROLES} />
      <FixedTagsField {...form.field("tags")} />
    </FormDialog>
  );
}
