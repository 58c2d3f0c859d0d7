import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import {
  deleteKey,
  deleteRelayToken,
  keysQuery,
  relayTokensQuery,
  type OwnedKey,
  type OwnedRelayToken,
} from "../../../api/people.ts";
import { ErrorNotice } from "../../../components/error-notice.tsx";
import { NotLoaded } from "../../../components/not-loaded.tsx";
import { DeleteSecret } from "../../../secrets/delete-secret.tsx";
import { SecretActions } from "../../../secrets/secret-actions.tsx";
import { SecretTable, type SecretRow } from "../../../secrets/secret-table.tsx";
import { formatCount } from "../../../text/format.ts";

export interface OwnedSecretsProps {
  /** Only this principal's; without it everybody's, with their owners. */
  readonly principal?: string | undefined;
  /** Part of a label, an owner or the last characters. */
  readonly query?: string | undefined;
  readonly empty: ReactNode;
}

/** API keys, to look through and to delete. */
export function OwnedKeys({ principal, query, empty }: OwnedSecretsProps) {
  const keys = useQuery(keysQuery(principal));
  const rows = useMemo(() => keys.data?.rows.map(fromKey) ?? [], [keys.data]);
  return (
    <Secrets
      {...{ rows, query, empty, answer: keys }}
      caption={principal === undefined ? "All keys" : `Keys of ${principal}`}
      noun="key"
      showOwner={principal === undefined}
      change={deleteKey}
      hasRequests={principal === undefined}
    />
  );
}

/** Relay tokens, likewise. */
export function OwnedRelayTokens({ principal, query, empty }: OwnedSecretsProps) {
  const tokens = useQuery(relayTokensQuery(principal));
  const rows = useMemo(() => tokens.data?.rows.map(fromToken) ?? [], [tokens.data]);
  return (
    <Secrets
      {...{ rows, query, empty, answer: tokens }}
      caption={principal === undefined ? "All relay tokens" : `Relay tokens of ${principal}`}
      noun="relay token"
      showOwner={principal === undefined}
      change={deleteRelayToken}
    />
  );
}

interface SecretsProps {
  readonly caption: string;
  readonly rows: readonly SecretRow[];
  readonly query: string | undefined;
  readonly empty: ReactNode;
  readonly noun: "key" | "relay token";
  readonly showOwner: boolean;
  readonly change: typeof deleteKey;
  /** The request log can be filtered by them. */
  readonly hasRequests?: boolean;
  readonly answer: {
    readonly data: { readonly total: number } | undefined;
    readonly error: Error | null;
    readonly isPending: boolean;
    readonly refetch: () => unknown;
  };
}

function Secrets({
  caption,
  rows,
  query,
  empty,
  noun,
  showOwner,
  change,
  hasRequests = false,
  answer,
}: SecretsProps) {
  const [deleting, setDeleting] = useState<SecretRow | null>(null);
  const shown = useMemo(() => rows.filter((row) => matches(row, query)), [rows, query]);
  const actions = useCallback(
    (row: SecretRow) => <SecretActions {...{ row, noun, hasRequests }} onDelete={setDeleting} />,
    [noun, hasRequests],
  );
  const total = answer.data?.total ?? 0;
  return (
    <>
      {answer.error !== null && <ErrorNotice failure={answer.error} onRetry={() => void answer.refetch()} />}
      <SecretTable
        caption={caption}
        rows={shown}
        busy={answer.isPending}
        actions={actions}
        empty={answer.data === undefined ? <NotLoaded /> : empty}
        showOwner={showOwner}
        compact={!showOwner}
      />
      {total > rows.length && (
        <p className="border-t border-line px-4 py-2 text-xs text-ink-soft">
          The first {formatCount(rows.length)} of {formatCount(total)} are listed.
        </p>
      )}
      {deleting !== null && (
        <DeleteSecret row={deleting} noun={noun} change={change} onClose={() => setDeleting(null)} />
      )}
    </>
  );
}

function matches({ label, suffix, owner }: SecretRow, query: string | undefined): boolean {
  if (query === undefined) return true;
  const wanted = query.toLowerCase();
  return [label, suffix, owner ?? ""].some((text) => text.toLowerCase().includes(wanted));
}

function fromKey(key: OwnedKey): SecretRow {
  return {
    id: key.id,
    label: key.label,
    suffix: key.key_suffix,
    createdAt: key.created_at,
    lastUsedAt: key.last_used_at,
    owner: key.principal,
  };
}

function fromToken(token: OwnedRelayToken): SecretRow {
  return {
    id: token.id,
    label: token.label,
    suffix: token.token_suffix,
    createdAt: token.created_at,
    lastUsedAt: token.last_used_at,
    owner: token.principal,
  };
}
