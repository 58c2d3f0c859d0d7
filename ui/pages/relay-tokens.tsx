import { useQuery } from "@tanstack/react-query";
import { createMyRelayToken, deleteMyRelayToken, myRelayTokensQuery, updateMyRelayToken } from "../api/my.ts";
import { InlineCode } from "../components/code.tsx";
import { Icon } from "../components/icon.tsx";
import { OwnSecrets } from "../secrets/own-secrets.tsx";
import { RELAY_TOKEN } from "../secrets/secret-row.ts";

/** The relay tokens of the signed-in person: they stand in the base URL of a client of the messages API. */
export function RelayTokensPage() {
  const answer = useQuery(myRelayTokensQuery());
  return (
    <OwnSecrets
      kind={RELAY_TOKEN}
      title="Relay tokens"
      caption="My relay tokens"
      lead="For Claude Code and the Anthropic SDKs. The token is part of the URL and only says whose usage it is; your own credential for the messages API passes through unchanged."
      emptyText="Create one for each machine or program, so that each can be revoked by itself."
      answer={answer}
      create={createMyRelayToken}
      remove={deleteMyRelayToken}
      update={updateMyRelayToken}
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
