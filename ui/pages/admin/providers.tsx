import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { modelsQuery, providersQuery, updateProvider, type Provider } from "../../api/catalog.ts";
import { providerHealthQuery } from "../../api/reports.ts";
import { Button } from "../../components/button.tsx";
import { Card } from "../../components/card.tsx";
import { EmptyState, NotLoaded } from "../../components/empty.tsx";
import { ErrorNotice } from "../../components/error-notice.tsx";
import { PageHead } from "../../components/page-head.tsx";
import { TextField } from "../../components/text-field.tsx";
import { useToast } from "../../components/toast.tsx";
import { useMinute } from "../../search/now.ts";
import type { ListSearch } from "../../search/pages.ts";
import { toTimeWindow } from "../../search/window.ts";
import { DisableDialog } from "./providers/provider-dialogs.tsx";
import { ProviderPanel } from "./providers/provider-panel.tsx";
import { type ProviderRow, ProviderTable } from "./providers/provider-table.tsx";
import { ProviderWizard } from "./providers/provider-wizard.tsx";

const route = getRouteApi("/shell/admin/providers");

/** Where requests go: add a provider, look for its models and bind them, change it, stop it. */
export function ProvidersPage() {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = useCallback(
    (patch: ListSearch, { replace = false } = {}) =>
      navigate({ search: (before) => ({ ...before, ...patch }), resetScroll: false, replace }),
    [navigate],
  );
  const providers = useQuery(providersQuery());
  const models = useQuery(modelsQuery());
  const failed = [providers, models].find(({ error }) => error !== null);
  const [isAdding, setAdding] = useState(false);
  const [disabling, setDisabling] = useState<string | null>(null);
  const enable = useEnable();

  const all = providers.data?.rows;
  const byProvider = useMemo(
    () => Map.groupBy(models.data?.rows ?? [], ({ provider }) => provider),
    [models.data],
  );
  const { since } = toTimeWindow({}, "24h", useMinute());
  const health = useQuery(providerHealthQuery({ since }));
  const byName = useMemo(
    () => new Map((health.data?.rows ?? []).map((row) => [row.value ?? "", row])),
    [health.data],
  );
  const wanted = (search.q ?? "").trim().toLowerCase();
  const rows = useMemo(
    () =>
      (all ?? [])
        .filter((provider) => `${provider.name}\n${provider.base_url}`.toLowerCase().includes(wanted))
        .map((provider): ProviderRow => ({
          provider,
          models: models.data === undefined ? null : (byProvider.get(provider.name)?.length ?? 0),
          stopped: provider.enabled ? NONE : (byProvider.get(provider.name) ?? []).map(({ alias }) => alias),
          health: health.data === undefined ? null : (byName.get(provider.name) ?? "unused"),
        })),
    [all, byProvider, models.data, byName, health.data, wanted],
  );
  const { mutate: enableNow } = enable;
  const switchProvider = useCallback(
    (provider: Provider, enabled: boolean) => {
      if (enabled) enableNow({ name: provider.name, patch: { enabled } });
      else setDisabling(provider.name);
    },
    [enableNow],
  );
  // Within the panel where one is open: two modal surfaces beside each other would fight for the focus.
  const question = disabling !== null && (
    <DisableDialog
      provider={disabling}
      models={byProvider.get(disabling) ?? []}
      onClose={() => setDisabling(null)}
    />
  );
  return (
    <>
      <PageHead
        title="Providers"
        lead="Where requests are sent. Add models of a provider before your team can call them."
        actions={
          <Button variant="primary" icon="plus" onClick={() => setAdding(true)}>
            Add provider
          </Button>
        }
      />
      {failed !== undefined && failed.error !== null && (
        <div className="mb-4">
          <ErrorNotice failure={failed.error} onRetry={() => void failed.refetch()} />
        </div>
      )}
      {enable.error !== null && (
        <div className="mb-4">
          <ErrorNotice failure={enable.error} />
        </div>
      )}
      <TextField
        label="Find a provider"
        labelHidden
        type="search"
        icon="search"
        placeholder="Find by name or URL"
        isPageFilter
        className="mb-4 sm:max-w-xs"
        value={search.q ?? ""}
        // Each letter would be a step back otherwise.
        onValueChange={(q) => void change({ q: q === "" ? undefined : q }, { replace: true })}
      />
      <Card flush>
        <ProviderTable
          rows={rows}
          busy={providers.isPending}
          openName={search.open ?? null}
          onOpen={(open) => void change({ open })}
          onEnable={switchProvider}
          empty={
            all === undefined ? (
              <NotLoaded />
            ) : all.length > 0 ? (
              <EmptyState title="No provider matches" icon="search" />
            ) : (
              <EmptyState
                icon="provider"
                title="No providers yet"
                body="Add OpenAI, OpenRouter, Ollama, vLLM or any server with an OpenAI-compatible API."
                action={<Button onClick={() => setAdding(true)}>Add your first provider</Button>}
              />
            )
          }
        />
      </Card>
      {search.open !== undefined && (
        <ProviderPanel
          key={search.open}
          name={search.open}
          models={byProvider.get(search.open) ?? []}
          onEnable={switchProvider}
          onClose={() => change({ open: undefined })}
        >
          {question}
        </ProviderPanel>
      )}
      {isAdding && (
        <ProviderWizard
          provider={null}
          takenNames={(all ?? []).map(({ name }) => name)}
          onClose={() => setAdding(false)}
        />
      )}
      {search.open === undefined && question}
    </>
  );
}

const NONE: readonly string[] = [];

function useEnable() {
  const { notify } = useToast();
  return useMutation({
    ...updateProvider,
    onSuccess: ({ name }) =>
      notify({ title: `${name} is enabled`, body: "Its models can be called again.", tone: "good" }),
  });
}
