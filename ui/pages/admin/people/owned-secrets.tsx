import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import {
  deleteKey,
  deleteRelayToken,
  keysQuery,
  relayTokensQuery,
  rotateKey,
  updateKey,
  updateRelayToken,
} from "../../../api/people.ts";
import { EmptyState } from "../../../components/empty.tsx";
import { SecretList } from "../../../secrets/secret-list.tsx";
import { KEY, RELAY_TOKEN } from "../../../secrets/secret-row.ts";

export interface OwnedSecretsProps {
  /** The owner's name; without it the keys of all principals are listed. */
  readonly principal?: string | undefined;
  /** Part of a label, an owner or the last characters. */
  readonly query?: string | undefined;
  readonly empty: ReactNode;
}

/** API keys of one principal or of all. */
export function OwnedKeys({ principal, query, empty }: OwnedSecretsProps) {
  return (
    <SecretList
      kind={KEY}
      caption={principal === undefined ? "All keys" : `Keys of ${principal}`}
      answer={useQuery(keysQuery(principal))}
      remove={deleteKey}
      update={updateKey}
      rotate={rotateKey}
      layout={principal === undefined ? "all" : "panel"}
      query={query}
      empty={query === undefined ? empty : <EmptyState icon="search" title="No key matches" />}
    />
  );
}

/** Relay tokens of one principal or of all. */
export function OwnedRelayTokens({ principal, query, empty }: OwnedSecretsProps) {
  return (
    <SecretList
      kind={RELAY_TOKEN}
      caption={principal === undefined ? "All relay tokens" : `Relay tokens of ${principal}`}
      answer={useQuery(relayTokensQuery(principal))}
      remove={deleteRelayToken}
      update={updateRelayToken}
      layout={principal === undefined ? "all" : "panel"}
      query={query}
      empty={query === undefined ? empty : <EmptyState icon="search" title="No relay token matches" />}
    />
  );
}
