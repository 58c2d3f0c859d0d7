import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useRef, useState } from "react";
import { changing } from "../../../api/changing.ts";
import { createKey } from "../../../api/people.ts";
import { Badge } from "../../../components/chip.tsx";
import { Button, buttonClass } from "../../../components/button.tsx";
import { Instant } from "../../../components/instant.tsx";
import { Cost } from "../../../components/cost.tsx";
import { SidePanel } from "../../../components/panel.tsx";
import { findRowButton } from "../../../components/table-body.tsx";
import type { SecretDraft } from "../../../api/secret-change.ts";
import { CreateSecret } from "../../../secrets/create-secret.tsx";
import { FixedTagBadges } from "../../../secrets/fixed-tags.tsx";
import { KEY } from "../../../secrets/secret-row.ts";
import { formatCount } from "../../../text/format.ts";
import { EditTags } from "./edit-tags.tsx";
import { OwnedKeys, OwnedRelayTokens } from "./owned-secrets.tsx";
import type { Person } from "./people-list.ts";
import { PrincipalAccess } from "./principal-access.tsx";
import { PrincipalLimits } from "./principal-limits.tsx";

export interface PrincipalPanelProps {
  readonly person: Person;
  readonly isSelf: boolean;
  readonly onClose: () => void;
}

/** One principal: what they may do, their keys and their relay tokens. */
export function PrincipalPanel({ person, isSelf, onClose }: PrincipalPanelProps) {
  const { name, kind, role, isEnabled } = person;
  const [creating, setCreating] = useState(false);
  const [isTagging, setTagging] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const createForThem = useMemo(
    () => changing((draft: SecretDraft) => createKey.run({ principal: name, ...draft }), createKey.refresh),
    [name],
  );
  return (
    <SidePanel
      open
      onOpenChange={(open) => !open && onClose()}
      // Its row, also when the mouse opened it, or an address did.
      toFinalFocus={() => findRowButton(person.id)}
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
      <div className="flex flex-col gap-7">
        <Figures person={person} />
        <Section title="Access">
          <PrincipalAccess person={person} isSelf={isSelf} onDeleted={onClose} />
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
            <OwnedKeys principal={name} empty={<None>No keys. Create one and hand it over safely.</None>} />
          </div>
        </Section>
        <Section title="Relay tokens">
          <div className="rounded-card border border-line">
            <OwnedRelayTokens
              principal={name}
              empty={<None>No relay tokens. People create their own under Relay tokens.</None>}
            />
          </div>
        </Section>
      </div>
      <CreateSecret
        kind={KEY}
        owner={name}
        open={creating}
        onClose={() => setCreating(false)}
        change={createForThem}
        toFinalFocus={() => opener.current}
      />
    </SidePanel>
  );
}

function Figures({ person }: { readonly person: Person }) {
  const { requests, cost, isCostPartial, lastUsedAt, createdAt } = person;
  return (
    <dl className="flex flex-wrap gap-x-8 gap-y-3">
      <Figure label="Cost, 30 days">
        <Cost value={cost} unpriced={isCostPartial} used={requests > 0} />
      </Figure>
      <Figure label="Requests, 30 days">{formatCount(requests)}</Figure>
      <Figure label="Last used">
        <Instant value={lastUsedAt} format="relative" />
      </Figure>
      <Figure label="Created">
        <Instant value={createdAt} format="date" />
      </Figure>
    </dl>
  );
}

function Figure({ label, children }: { readonly label: string; readonly children: ReactNode }) {
  return (
    <div className="min-w-0">
      <dt className="text-xs text-ink-faint">{label}</dt>
      <dd className="mt-0.5 font-medium">{children}</dd>
    </div>
  );
}

interface SectionProps {
  readonly title: string;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}

function Section({ title, action, children }: SectionProps) {
  return (
    <section className="min-w-0">
      <div className="mb-2 flex min-h-7 items-center justify-between gap-3">
        <h3 className="text-xs font-medium text-ink-faint">{title}</h3>
        {action}
      </div>
      {children}
    </section>
  );
}

function None({ children }: { readonly children: ReactNode }) {
  return <p className="px-4 py-3 text-ink-soft">{children}</p>;
}
