import { Card } from "../../../components/card.tsx";
import { EmptyState } from "../../../components/empty.tsx";
import { OwnedKeys, OwnedRelayTokens } from "./owned-secrets.tsx";

export interface SecretTabProps {
  readonly query: string | undefined;
}

/** Everybody's API keys. */
export function KeysTab({ query }: SecretTabProps) {
  return (
    <Card flush>
      <OwnedKeys
        query={query}
        empty={
          query === undefined ? (
            <EmptyState
              icon="key"
              title="Nobody has a key yet"
              body="Open a person or a service and create one, or let them create their own under My keys."
            />
          ) : (
            <EmptyState icon="search" title="No key matches" />
          )
        }
      />
    </Card>
  );
}

/** Everybody's relay tokens. */
export function RelayTokensTab({ query }: SecretTabProps) {
  return (
    <Card flush>
      <OwnedRelayTokens
        query={query}
        empty={
          query === undefined ? (
            <EmptyState
              icon="token"
              title="Nobody has a relay token yet"
              body="Everybody creates their own, under Relay tokens."
            />
          ) : (
            <EmptyState icon="search" title="No relay token matches" />
          )
        }
      />
    </Card>
  );
}
