import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { Capability } from "#catalog/capability.ts";
import {
  isServed,
  NEEDS,
  SECRET_VARIABLES,
  SNIPPET_USES,
  toUses,
  type SnippetClient,
  type SnippetUse,
} from "#snippets/client.ts";
import { CLIENTS } from "#snippets/clients.ts";
import { UNSUPPORTED } from "#snippets/unsupported.ts";
import { listedModelsQuery } from "../api/models.ts";
import { toCapabilityLabel } from "../components/capability.tsx";
import { CodeBlock, CodeSkeleton } from "../components/code.tsx";
import { SelectField } from "../components/select-field.tsx";

export interface SnippetsProps {
  /** Clients with an API key, or with a relay token. */
  readonly kind: "openai" | "relay";
  /** An alias; without one, the first that can chat. */
  readonly model?: string | undefined;
  /** The model's capabilities: only examples that it answers are shown. All of them without it. */
  readonly capabilities?: readonly Capability[] | undefined;
  /** The only aliases that the key may use: the model and the examples are those of one of them. */
  readonly only?: readonly string[] | undefined;
  /** The plaintext, while it may be shown; without it the snippets name a variable. */
  readonly secret?: string | undefined;
  /** Puts the snippet into a text to hand over, which stands in its place. */
  readonly toInvitation?: ((example: Example) => string) | undefined;
  /** The secret left the page with a snippet. */
  readonly onCopied?: (() => void) | undefined;
}

/** How one client is pointed at this server. */
export interface Example {
  readonly client: SnippetClient;
  readonly code: string;
  /** The alias that it calls; null where there is none. */
  readonly model: string | null;
}

/** Labels of the examples that are not called as the capability that they need. */
const USE_LABELS: { readonly [use in SnippetUse]?: string } = {
  chat: "Complete answer",
  stream: "Streaming",
  responses: "Responses API",
  messages: "Messages API",
};

function toUseLabel(use: SnippetUse): string {
  return USE_LABELS[use] ?? toCapabilityLabel(NEEDS[use][0]);
}

/** True when there is an example for a model that can do this. */
export function hasSnippets(capabilities: readonly Capability[]): boolean {
  return SNIPPET_USES.some((use) => isServed(use, capabilities));
}

/** How a client is pointed at this server: its install line, the text to paste, and what one runs into. */
export function Snippets(props: SnippetsProps) {
  const { kind, model, only, secret, toInvitation, onCopied } = props;
  const { data: models, isLoading } = useQuery({
    ...listedModelsQuery({ includeHidden: only !== undefined }),
    enabled: kind === "openai" && model === undefined,
  });
  const callable = only === undefined ? models : models?.filter(({ id }) => only.includes(id));
  const capabilities =
    props.capabilities ??
    (only === undefined || callable === undefined || callable.length === 0
      ? undefined
      : callable.flatMap((one) => one.capabilities));
  const toServedUses = (client: SnippetClient) =>
    toUses(client).filter((use) => capabilities === undefined || isServed(use, capabilities));
  const clients = CLIENTS.filter(
    (client) => SECRET_VARIABLES[client.kind] === SECRET_VARIABLES[kind] && toServedUses(client).length > 0,
  );
  const [clientId, setClientId] = useState(clients[0]?.id ?? "");
  const [wantedUse, setUse] = useState<SnippetUse>();
  const client = clients.find(({ id }) => id === clientId) ?? clients[0];
  const uses = client === undefined ? [] : toServedUses(client);
  const use = uses.find((known) => known === wantedUse) ?? uses[0];
  const toSnippet = use === undefined ? undefined : client?.snippets[use];
  const served = callable?.find((one) => use !== undefined && isServed(use, one.capabilities))?.id;
  // A key may be held to models that are still to come: the example then has the first of them.
  const alias = kind === "relay" ? null : (model ?? served ?? only?.[0] ?? null);
  if (client === undefined || use === undefined || toSnippet === undefined) return null;
  const code = toSnippet({ origin: globalThis.location.origin, model: alias, secret: secret ?? null });
  return (
    <div className="flex min-w-0 flex-col gap-3">
      <div className="grid gap-2 sm:grid-cols-2">
        <SelectField
          label="Client"
          value={client.id}
          options={clients.map(({ id, name }) => ({ value: id, label: name }))}
          onValueChange={setClientId}
        />
        {uses.length > 1 && (
          <SelectField
            label="Example"
            value={use}
            options={uses.map((value) => ({ value, label: toUseLabel(value) }))}
            onValueChange={setUse}
          />
        )}
      </div>
      {toInvitation === undefined && client.install !== null && (
        <CodeBlock code={client.install} language="Install" />
      )}
      {isLoading ? (
        <CodeSkeleton />
      ) : toInvitation === undefined ? (
        <CodeBlock code={code} language={client.file ?? client.name} onCopied={onCopied} />
      ) : (
        <CodeBlock
          code={toInvitation({ client, code, model: alias })}
          language="Invitation"
          copyLabel="Copy invitation"
          wrap
          onCopied={onCopied}
        />
      )}
      {client.notes.length > 0 && (
        <ul className="list-disc space-y-1 pl-5 text-sm text-ink-soft">
          {client.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {kind === "openai" && <Unsupported />}
    </div>
  );
}

function Unsupported() {
  return (
    <details className="text-sm text-ink-soft">
      <summary className="cursor-default rounded-control py-1 hover:text-ink">
        What does not work, and why
      </summary>
      <dl className="mt-1 flex flex-col gap-2">
        {UNSUPPORTED.map(({ id, name, reason, instead }) => (
          <div key={id}>
            <dt className="font-medium text-ink">{name}</dt>
            <dd>
              {reason}
              {instead !== null && ` ${instead}`}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
