import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useRef, useState } from "react";
import type { Change } from "../api/changing.ts";
import { MY_KEYS, MY_RELAY_TOKENS, myRelayTokensQuery, type SecretDraft } from "../api/people.ts";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { InlineCode } from "../components/code.tsx";
import { EmptyState } from "../components/empty.tsx";
import { Icon } from "../components/icon.tsx";
import { PageHead } from "../components/page-head.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { CreateSecret } from "../secrets/secret-dialogs.tsx";
import { type CreatedSecret, KEY, RELAY_TOKEN, type SecretKind } from "../secrets/secret-kind.ts";
import { SecretList, type SecretsAnswer } from "../secrets/secret-list.tsx";
import { Snippets } from "../snippets/snippets.tsx";

/** The API keys of the signed-in person. */
export function KeysPage() {
  return (
    <OwnSecrets
      kind={KEY}
      title="My keys"
      lead="A key lets a program call the models. It is shown once, when you create it; only its hash is kept."
      emptyText="Create one for each program that calls models, so that each can be revoked by itself."
      answer={useQuery(MY_KEYS.list())}
      create={MY_KEYS.create}
    />
  );
}

/** The relay tokens of the signed-in person: they stand in the base URL of a client of the messages API. */
export function RelayTokensPage() {
  const answer = useQuery(myRelayTokensQuery());
  return (
    <OwnSecrets
      kind={RELAY_TOKEN}
      title="Relay tokens"
      lead="For Claude Code and the Anthropic SDKs. The token is part of the URL and only says whose usage it is; your own credential for the messages API passes through unchanged."
      emptyText="Create one for each machine or program, so that each can be revoked by itself."
      answer={answer}
      create={MY_RELAY_TOKENS.create}
      notice={answer.data?.isRelayOn === false && <RelayOff />}
    />
  );
}

function RelayOff() {
  return (
    <p className="mb-4 flex items-start gap-2.5 rounded-card bg-warn-soft p-3.5 text-sm text-ink">
      <Icon name="warning" className="mt-0.5 text-warn" />
      <span>
        The relay is off, so relay tokens do not work yet. Ask the operator to set{" "}
        <InlineCode>PROXY_MESSAGES_BASE_URL</InlineCode> and restart the server.
      </span>
    </p>
  );
}

interface OwnSecretsProps {
  readonly kind: SecretKind;
  readonly title: string;
  readonly lead: string;
  readonly emptyText: string;
  readonly answer: SecretsAnswer;
  readonly create: Change<SecretDraft, CreatedSecret>;
  /** Stands above the list, which then waits for it: false is no notice. */
  readonly notice?: ReactNode;
}

/** Create one, paste it into a client, delete it. */
function OwnSecrets({ kind, title, lead, emptyText, answer, create, notice }: OwnSecretsProps) {
  const [creating, setCreating] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  return (
    <>
      <PageHead
        title={title}
        lead={lead}
        actions={
          <Button ref={opener} variant="primary" icon="plus" onClick={() => setCreating(true)}>
            Create a {kind.noun}
          </Button>
        }
      />
      {notice}
      {answer.isPending && notice !== undefined ? (
        <div aria-busy>
          <Skeleton className="h-64 w-full" />
        </div>
      ) : (
        <Card flush>
          <SecretList
            kind={kind}
            caption={`My ${kind.noun}s`}
            answer={answer}
            layout="own"
            empty={
              <EmptyState
                icon={kind.icon}
                title={`You have no ${kind.noun} yet`}
                body={emptyText}
                action={<Button onClick={() => setCreating(true)}>Create your first {kind.noun}</Button>}
              />
            }
          />
        </Card>
      )}
      {/* The list has a length that is unknown at first: the card below comes after it, and is not pushed down. */}
      {!answer.isPending && (
        <Card
          title="Connect a client"
          lead={`The example names a variable: put one of your ${kind.noun}s in it`}
          className="mt-6"
        >
          <Snippets kind={kind.clients} />
        </Card>
      )}
      <CreateSecret
        kind={kind}
        open={creating}
        onClose={() => setCreating(false)}
        change={create}
        toFinalFocus={() => opener.current}
      />
    </>
  );
}
