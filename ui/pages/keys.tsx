import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { createMyKey, deleteMyKey, myKeysQuery } from "../api/my.ts";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState } from "../components/empty.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { NotLoaded } from "../components/not-loaded.tsx";
import { PageHead } from "../components/page-head.tsx";
import { CreateDialog } from "../secrets/create-dialog.tsx";
import { DeleteSecret } from "../secrets/delete-secret.tsx";
import { RevealDialog } from "../secrets/reveal-dialog.tsx";
import { SecretActions } from "../secrets/secret-actions.tsx";
import { SecretTable, type SecretRow } from "../secrets/secret-table.tsx";
import { Snippets } from "../snippets/snippets.tsx";

/** A person's own API keys: make one, paste it into a client, delete it. */
export function KeysPage() {
  const keys = useQuery(myKeysQuery());
  const [creating, setCreating] = useState(false);
  const [created, setCreated] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<SecretRow | null>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const rows = useMemo(
    () =>
      (keys.data ?? []).map((key) => ({
        id: key.id,
        label: key.label,
        suffix: key.key_suffix,
        createdAt: key.created_at,
        lastUsedAt: key.last_used_at,
      })),
    [keys.data],
  );
  const actions = useCallback(
    (row: SecretRow) => <SecretActions row={row} noun="key" hasRequests onDelete={setDeleting} />,
    [],
  );
  return (
    <>
      <PageHead
        title="My keys"
        lead="A key lets a program of yours call the models here. Each is shown once, when it is made; only a hash of it is kept."
        actions={
          <Button ref={opener} variant="primary" icon="plus" onClick={() => setCreating(true)}>
            Create a key
          </Button>
        }
      />
      {keys.error !== null && <ErrorNotice failure={keys.error} onRetry={() => void keys.refetch()} />}
      <Card flush>
        <SecretTable
          caption="My keys"
          rows={rows}
          busy={keys.isPending}
          actions={actions}
          empty={
            keys.error !== null && keys.data === undefined ? (
              <NotLoaded />
            ) : (
              <EmptyState
                icon="key"
                title="You have no key yet"
                body="Create one for each program that calls models, so that you can tell and stop them apart."
                action={<Button onClick={() => setCreating(true)}>Create your first key</Button>}
              />
            )
          }
        />
      </Card>
      {rows.length >= PAGE_LIMIT_MAX && (
        <p className="mt-2 text-sm text-ink-soft">The first {PAGE_LIMIT_MAX} keys are listed.</p>
      )}
      {/* Below a list of unknown length: it comes when that is known, and is not pushed down. */}
      {!keys.isPending && (
        <Card
          title="Point a client here"
          lead="With a key of yours in the variable that the snippet names."
          className="mt-6"
        >
          <Snippets kind="openai" />
        </Card>
      )}
      <CreateDialog
        open={creating}
        onClose={() => setCreating(false)}
        title="Create a key"
        submitLabel="Create key"
        change={createMyKey}
        onCreated={({ key }) => {
          setCreating(false);
          setCreated(key);
        }}
      />
      {created !== null && (
        <RevealDialog
          secret={created}
          kind="openai"
          title="Your new key"
          label="Key"
          onClose={() => setCreated(null)}
          toFinalFocus={() => opener.current}
        />
      )}
      {deleting !== null && (
        <DeleteSecret row={deleting} noun="key" change={deleteMyKey} onClose={() => setDeleting(null)} />
      )}
    </>
  );
}
