import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { toFailedShare } from "#stats/breakdown.ts";
import { MODELS, type Provider, PROVIDERS } from "../api/catalog.ts";
import { type ProviderHealth, providerHealthQuery } from "../api/reports.ts";
import { Badge } from "../components/chip.tsx";
import { SwitchField } from "../components/choice-field.tsx";
import type { Column } from "../components/column.ts";
import { Absent } from "../components/empty.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { Instant } from "../components/instant.tsx";
import { useToast } from "../components/toast.tsx";
import { useMinute } from "../search/now.ts";
import { toTimeWindow } from "../search/window.ts";
import { formatCount, formatDuration, formatPercent } from "../text/format.ts";
import { ListPage, useListSearch } from "../lists/list-page.tsx";
import { DisableQuestion, ProviderPanel } from "./providers/provider-panel.tsx";
import { ProviderWizard } from "./providers/provider-wizard.tsx";

/** A provider with the facts that tell whether it serves. */
interface ProviderRow {
  readonly provider: Provider;
  /** Models that it serves, names for them included; null before that is known. */
  readonly models: number | null;
  /** Names that do not work since it is disabled; none of an enabled one. */
  readonly stopped: readonly string[];
  /** The last 24 hours; null before that is known. */
  readonly health: ProviderHealth | "unused" | null;
}

/** Where requests go: add a provider, look for its models and bind them, change it, stop it. */
export function ProvidersPage() {
  const { search } = useListSearch();
  const { notify } = useToast();
  const providers = useQuery(PROVIDERS.list());
  const models = useQuery(MODELS.list());
  const { since } = toTimeWindow({}, "24h", useMinute());
  const health = useQuery(providerHealthQuery({ since }));
  const [disabling, setDisabling] = useState<string | null>(null);
  const { mutate: enable, error: enableFailure } = useMutation({
    ...PROVIDERS.update,
    onSuccess: ({ name }) =>
      notify({ title: `${name} is enabled`, body: "Its models can be called again.", tone: "good" }),
  });
  const byProvider = useMemo(
    () => Map.groupBy(models.data?.rows ?? [], ({ provider }) => provider),
    [models.data],
  );
  const rows = useMemo(() => {
    const byName = new Map(health.data?.rows.map((row) => [row.value ?? "", row]));
    return providers.data?.rows.map((provider): ProviderRow => {
      const served = byProvider.get(provider.name) ?? [];
      return {
        provider,
        models: models.data === undefined ? null : served.length,
        stopped: provider.enabled ? [] : served.map(({ alias }) => alias),
        health: health.data === undefined ? null : (byName.get(provider.name) ?? "unused"),
      };
    });
  }, [providers.data, byProvider, models.data, health.data]);
  const switchProvider = useCallback(
    ({ name }: Provider, enabled: boolean) => {
      if (enabled) enable({ id: name, patch: { enabled } });
      else setDisabling(name);
    },
    [enable],
  );
  const columns = useMemo(() => toColumns(switchProvider), [switchProvider]);
  // Within the panel where one is open: two modal surfaces beside each other would fight for the focus.
  const question = disabling !== null && (
    <DisableQuestion
      provider={disabling}
      models={byProvider.get(disabling) ?? []}
      onClose={() => setDisabling(null)}
    />
  );
  return (
    <>
      <ListPage
        title="Providers"
        lead="Where requests are sent. Add models of a provider before your team can call them."
        noun="provider"
        isNamed
        caption="Providers"
        asked={[providers, models]}
        rows={rows}
        total={providers.data?.total}
        columns={columns}
        getRowId={({ provider }) => provider.name}
        rowLabel={({ provider }) => `Settings of ${provider.name}`}
        sort={{ id: "name", descending: false }}
        find={{ label: "Find a provider", placeholder: "Name or URL", matches: matchesProvider }}
        none={{
          icon: "provider",
          title: "No providers yet",
          body: "Add OpenAI, OpenRouter, Ollama, vLLM or any server with an OpenAI-compatible API.",
        }}
        create={{
          label: "Add provider",
          first: "Add your first provider",
          dialog: (close) => (
            <ProviderWizard
              provider={null}
              takenNames={rows?.map(({ provider }) => provider.name) ?? []}
              onClose={close}
            />
          ),
        }}
        notice={
          enableFailure !== null && (
            <div className="mb-4">
              <ErrorNotice failure={enableFailure} />
            </div>
          )
        }
        panel={({ provider: { name } }, close) => (
          <ProviderPanel
            key={name}
            name={name}
            models={byProvider.get(name) ?? []}
            onEnable={switchProvider}
            onClose={close}
          >
            {question}
          </ProviderPanel>
        )}
      />
      {search.open === undefined && question}
    </>
  );
}

function matchesProvider({ provider }: ProviderRow, text: string): boolean {
  return `${provider.name}\n${provider.base_url}`.toLowerCase().includes(text);
}

function toColumns(onEnable: (provider: Provider, enabled: boolean) => void): readonly Column<ProviderRow>[] {
  return [
    {
      id: "name",
      header: "Name",
      width: "w-46",
      rowHeader: true,
      sortValue: ({ provider }) => provider.name,
      cell: ({ provider, stopped }) => (
        <span className="flex min-w-0 flex-col">
          <span
            className={provider.enabled ? "truncate font-medium" : "truncate font-medium text-ink-faint"}
            title={provider.name}
          >
            {provider.name}
          </span>
          <span className="truncate font-mono text-xs text-ink-soft" title={provider.base_url}>
            {provider.base_url}
          </span>
          {!provider.enabled && (
            <span className="truncate text-xs text-warn" title={stopped.join(", ")}>
              {stopped.length === 0 ? "disabled" : `disabled: ${toNames(stopped)} not served`}
            </span>
          )}
        </span>
      ),
    },
    {
      id: "models",
      header: "Models",
      width: "w-19",
      headerTitle: "Models of this provider, other names included",
      align: "end",
      sortValue: ({ models }) => models,
      cell: ({ provider, models }) =>
        models !== null && (
          <Link
            to="/models"
            search={{ provider: provider.name }}
            title={`Show the models of ${provider.name}`}
            className="text-accent underline-offset-2 hover:underline"
          >
            {formatCount(models)}
          </Link>
        ),
    },
    {
      id: "last-ok",
      header: "Last success",
      headerTitle: "The newest request of the last 24 hours that it answered",
      width: "w-28",
      descendingFirst: true,
      sortValue: ({ health }) => (isUsed(health) ? health.last_ok_at : null),
      cell: ({ health }) =>
        isUsed(health) && health.last_ok_at !== null ? (
          <Instant value={health.last_ok_at} format="relative" />
        ) : (
          <Quiet health={health} none="none in 24 h" />
        ),
    },
    {
      id: "failed",
      header: "Failed",
      headerTitle: "Of the requests of the last 24 hours, failed ones",
      width: "w-19",
      align: "end",
      sortValue: ({ health }) => (isUsed(health) ? toFailedShare(health) : null),
      cell: ({ provider, health }) =>
        isUsed(health) ? <FailedShare name={provider.name} health={health} /> : <Quiet health={health} />,
    },
    {
      id: "p50",
      header: "p50",
      headerTitle: "Half of its answers of the last 24 hours took less",
      width: "w-19",
      align: "end",
      sortValue: ({ health }) => (isUsed(health) ? health.duration_ms.p50 : null),
      cell: ({ health }) =>
        isUsed(health) && health.duration_ms.p50 !== null ? (
          formatDuration(health.duration_ms.p50)
        ) : (
          <Quiet health={health} />
        ),
    },
    {
      id: "tls",
      header: "Connection",
      width: "w-27",
      cell: ({ provider }) => (
        <span className="flex min-w-0 flex-wrap items-center gap-1">
          <TlsCell provider={provider} />
          {!provider.has_credential && <span className="text-ink-faint">no key</span>}
          {provider.credential_set_at !== undefined && (
            <span className="text-xs text-ink-faint">
              key set <Instant value={provider.credential_set_at} format="relative" />
            </span>
          )}
        </span>
      ),
    },
    {
      id: "enabled",
      header: "Enabled",
      width: "w-21",
      sortValue: ({ provider }) => (provider.enabled ? 1 : 0),
      cell: ({ provider }) => (
        <SwitchField
          label={`${provider.name} enabled`}
          labelHidden
          checked={provider.enabled}
          onCheckedChange={(enabled) => onEnable(provider, enabled)}
        />
      ),
    },
  ];
}

function isUsed(health: ProviderRow["health"]): health is ProviderHealth {
  return health !== null && health !== "unused";
}

/** From this share on something is wrong with it. */
const FAILING = 0.1;

function FailedShare({ name, health }: { readonly name: string; readonly health: ProviderHealth }) {
  const share = toFailedShare(health);
  if (share === null) return <Absent />;
  if (health.failed === 0) return formatPercent(0);
  return (
    <Link
      to="/errors"
      search={{ provider: name, range: "24h" }}
      title={`${formatCount(health.failed)} of ${formatCount(health.requests - health.cancelled)} requests that were not cancelled failed`}
      className={share >= FAILING ? "font-medium text-bad underline" : "underline-offset-2 hover:underline"}
    >
      {formatPercent(share)}
    </Link>
  );
}

/** Where there is nothing to tell: not asked for yet, or not used. */
function Quiet({ health, none }: { readonly health: ProviderRow["health"]; readonly none?: string }) {
  if (health === null) return <span className="text-ink-faint">…</span>;
  return none === undefined ? <Absent /> : <span className="text-ink-faint">{none}</span>;
}

const NAMES_SHOWN_MAX = 2;

function toNames(aliases: readonly string[]): string {
  const rest = aliases.length - NAMES_SHOWN_MAX;
  const shown = aliases.slice(0, NAMES_SHOWN_MAX).join(", ");
  return rest > 0 ? `${shown} and ${formatCount(rest)} more` : shown;
}

function TlsCell({ provider }: { readonly provider: Provider }) {
  if (provider.base_url.startsWith("http:")) return <span className="text-ink-faint">plain http</span>;
  return (
    <span className="flex gap-1">
      {provider.verify_tls ? <span>verified</span> : <Badge tone="warn">not verified</Badge>}
      {provider.has_custom_ca && <Badge>own CA</Badge>}
    </span>
  );
}
