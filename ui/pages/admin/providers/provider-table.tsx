import { Link } from "@tanstack/react-router";
import { useMemo, type ReactNode } from "react";
import type { Provider } from "../../../api/catalog.ts";
import { Badge } from "../../../components/chip.tsx";
import { SwitchField } from "../../../components/choice-field.tsx";
import type { Column } from "../../../components/column.ts";
import { DataTable } from "../../../components/table.tsx";
import { VirtualBody } from "../../../components/virtual-body.tsx";
import { formatCount } from "../../../text/format.ts";

export interface ProviderRow {
  readonly provider: Provider;
  /** Models that it serves, names for them included; null before that is known. */
  readonly models: number | null;
}

export interface ProviderTableProps {
  readonly rows: readonly ProviderRow[];
  readonly busy: boolean;
  readonly openName: string | null;
  readonly onOpen: (name: string) => void;
  readonly onEnable: (provider: Provider, enabled: boolean) => void;
  readonly empty: ReactNode;
}

/** The providers with what tells whether they can serve. */
export function ProviderTable({ rows, busy, openName, onOpen, onEnable, empty }: ProviderTableProps) {
  const columns = useMemo(() => toColumns(onEnable), [onEnable]);
  return (
    <DataTable
      caption="Providers"
      columns={columns}
      rows={rows}
      getRowId={toId}
      sort={{ id: "name", descending: false }}
      busy={busy}
      skeletonRows={5}
      // Columns of fixed width: what is loaded moves none of them.
      body={VirtualBody}
      className="max-h-[70vh] min-h-40"
      onRowActivate={({ provider }) => onOpen(provider.name)}
      rowLabel={({ provider }) => `Settings of ${provider.name}`}
      activeRowId={openName}
      empty={empty}
    />
  );
}

function toColumns(onEnable: (provider: Provider, enabled: boolean) => void): readonly Column<ProviderRow>[] {
  return [
    {
      id: "name",
      header: "Name",
      width: "w-36",
      rowHeader: true,
      sortValue: ({ provider }) => provider.name,
      cell: ({ provider }) => (
        <span
          className={provider.enabled ? "font-medium" : "font-medium text-ink-faint"}
          title={provider.name}
        >
          {provider.name}
        </span>
      ),
    },
    {
      id: "url",
      header: "Base URL",
      width: "w-60",
      sortValue: ({ provider }) => provider.base_url,
      cell: ({ provider }) => (
        <span className="font-mono text-xs text-ink-soft" title={provider.base_url}>
          {provider.base_url}
        </span>
      ),
    },
    {
      id: "models",
      header: "Models",
      width: "w-20",
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
      id: "key",
      header: "Key",
      width: "w-20",
      headerTitle: "Whether a credential is stored",
      sortValue: ({ provider }) => (provider.has_credential ? 1 : 0),
      cell: ({ provider }) =>
        provider.has_credential ? "stored" : <span className="text-ink-faint">none</span>,
    },
    {
      id: "tls",
      header: "TLS",
      width: "w-28",
      cell: ({ provider }) => <TlsCell provider={provider} />,
    },
    {
      id: "timeouts",
      header: "Timeouts",
      width: "w-32",
      headerTitle: "Connect and read timeout",
      cell: ({ provider }) => (
        <span title={`${provider.timeout_connect} s to connect, ${provider.timeout_read} s to read`}>
          {provider.timeout_connect} s<span className="text-ink-faint"> · </span>
          {provider.timeout_read} s
        </span>
      ),
    },
    {
      id: "cap",
      header: "Concurrency",
      width: "w-24",
      headerTitle: "Max concurrency: more requests wait in a queue",
      align: "end",
      sortValue: ({ provider }) => provider.max_concurrency,
      cell: ({ provider }) =>
        provider.max_concurrency === null ? (
          <span className="text-ink-faint">unlimited</span>
        ) : (
          formatCount(provider.max_concurrency)
        ),
    },
    {
      id: "enabled",
      header: "Enabled",
      width: "w-22",
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

function TlsCell({ provider }: { readonly provider: Provider }) {
  if (provider.base_url.startsWith("http:")) return <span className="text-ink-faint">plain http</span>;
  return (
    <span className="flex gap-1">
      {provider.verify_tls ? <span>verified</span> : <Badge tone="warn">not verified</Badge>}
      {provider.has_custom_ca && <Badge>own CA</Badge>}
    </span>
  );
}

function toId({ provider }: ProviderRow): string {
  return provider.name;
}
