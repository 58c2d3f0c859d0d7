import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import type { Change } from "../api/changing.ts";
import { MY_KEYS, MY_RELAY_TOKENS, myRelayTokensQuery, type SecretDraft } from "../api/people.ts";
import { Card } from "../components/card.tsx";
import { InlineCode } from "../components/code.tsx";
import { Icon } from "../components/icon.tsx";
import { ListPage } from "../lists/list-page.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { CreateSecret } from "../secrets/secret-dialogs.tsx";
import { type CreatedSecret, KEY, RELAY_TOKEN, type SecretKind } from "../secrets/secret-kind.ts";
import { matchesSecret, type SecretsAnswer, useSecretRows } from "../secrets/secret-list.tsx";
import { Snippets } from "../snippets/snippets.tsx";

/** The API keys of the signed-in person. */
export function KeysPage() {
  return (
    <OwnSecrets
      kind={KEY}
      title="My keys"
      lead="Lets a program call the models. Shown once, when you create it: only its hash is kept."
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
      lead="Says in a URL whose usage it is. Your own credential of Claude Code or an SDK passes unchanged."
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
  const { dialog, ...list } = useSecretRows({ kind, answer, layout: "own" });
  const waits = answer.isPending && notice !== undefined;
  return (
    <>
      <ListPage
        {...list}
        title={title}
        lead={lead}
        noun={kind.noun}
        caption={`My ${kind.noun}s`}
        asked={[answer]}
        total={answer.data?.total}
        skeletonRows={3}
        find={{
          label: `Find a ${kind.noun}`,
          placeholder: "Label or last characters",
          matches: matchesSecret,
        }}
        none={{ icon: kind.icon, title: `You have no ${kind.noun} yet`, body: emptyText }}
        create={{
          label: `Create a ${kind.noun}`,
          first: `Create your first ${kind.noun}`,
          dialog: (close, toOpener) => (
            <CreateSecret kind={kind} onClose={close} change={create} toFinalFocus={toOpener} />
          ),
        }}
        notice={notice}
        // What comes with the answer stands above the list, which then moves nothing when it comes.
        around={(rows) =>
          waits ? (
            <div aria-busy>
              <Skeleton className="h-64 w-full" />
            </div>
          ) : (
            rows
          )
        }
      />
      {dialog}
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
    </>
  );
}
