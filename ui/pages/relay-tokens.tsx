import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { createMyRelayToken, deleteMyRelayToken, myRelayTokensQuery } from "../api/my.ts";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { NotLoaded } from "../components/not-loaded.tsx";
import { PageHead } from "../components/page-head.tsx";
import { Skeleton } from "../components/skeleton.tsx";
import { CreateDialog } from "../secrets/create-dialog.tsx";
import { DeleteSecret } from "../secrets/delete-secret.tsx";
import { RevealDialog } from "../secrets/reveal-dialog.tsx";
import { SecretActions } from "../secrets/secret-actions.tsx";
import { SecretTable, type SecretRow } from "../secrets/secret-table.tsx";
import { Snippets } from "../snippets/snippets.tsx";
import { RelayOff } from "./relay-tokens/relay-off.tsx";

/** A person's own relay tokens: they stand in the base URL of a client of the messages API, and say whose usage it is. */
export function RelayTokensPage() {
  const tokens = useQuery(myRelayTokensQuery());
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<SecretRow | null>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const rows = useMemo(
    () =>
      (tokens.data?.tokens ?? []).map((token) => ({
        id: token.id,
        label: token.label,
        suffix: token.token_suffix,
        createdAt: token.created_at,
        lastUsedAt: token.last_used_at,
      })),
    [tokens.data],
  );
  const actions = useCallback(
    (row: SecretRow) => <SecretActions row={row} noun="relay token" onDelete={setDeleting} />,
    [],
  );
  return (
    <>
      <PageHead
        title="Relay tokens"
        lead="For Claude Code and the Anthropic SDKs. The token stands in the URL and only says whose usage it is; your own credential for the messages API passes through unchanged."
        actions={
          <Button ref={opener} variant="primary" icon="plus" onClick={() => setCreating(true)}>
            Create a relay token
          </Button>
        }
      />
      {tokens.isPending ? (
        <div aria-busy>
          <Skeleton className="h-64 w-full" />
        </div>
      ) : (
        <>
          {tokens.data?.isRelayOn === false && <RelayOff />}
          {tokens.error !== null && (
            <ErrorNotice failure={tokens.error} onRetry={() => void tokens.refetch()} />
          )}
          <Card flush>
            <SecretTable
              caption="My relay tokens"
              rows={rows}
              busy={false}
              actions={actions}
              empty={
                tokens.error !== null && tokens.data === undefined ? (
                  <NotLoaded />
                ) : (
                  <EmptyState
                    icon="token"
                    title="You have no relay token yet"
                    body="Create one for each machine or program, so that you can tell and stop them apart."
                    action={<Button onClick={() => setCreating(true)}>Create your first relay token</Button>}
                  />
                )
              }
            />
          </Card>
          {rows.length >= PAGE_LIMIT_MAX && (
            <p className="mt-2 text-sm text-ink-soft">The first {PAGE_LIMIT_MAX} relay tokens are listed.</p>
          )}
          <Card
            title="Point a client here"
            lead="With a relay token of yours in the variable that the snippet names."
            className="mt-6"
          >
            <Snippets kind="relay" />
          </Card>
        </>
      )}
      <CreateDialog
        open={creating}
        onClose={() => setCreating(false)}
        title="Create a relay token"
        submitLabel="Create token"
        change={createMyRelayToken}
        onCreated={({ token }) => {
          setCreating(false);
          setCreated(token);
        }}
      />
      {created !== null && (
        <RevealDialog
          secret={created}
          kind="relay"
          title="Your new relay token"
          label="Relay token"
          onClose={() => setCreated(null)}
          toFinalFocus={() => opener.current}
        />
      )}
      {deleting !== null && (
        <DeleteSecret
          row={deleting}
          noun="relay token"
          change={deleteMyRelayToken}
          onClose={() => setDeleting(null)}
        />
      )}
    </>
  );
}
