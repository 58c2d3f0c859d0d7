import { useCallback, useMemo, useState, type ReactNode } from "react";
import type { Unit } from "#kernel/units.ts";
import { ArrowChain } from "../../../components/arrow-chain.tsx";
import { Badge } from "../../../components/badge.tsx";
import { CapabilityChips } from "../../../components/capability.tsx";
import { SwitchField } from "../../../components/choice-field.tsx";
import type { Column } from "../../../components/column.ts";
import { Instant } from "../../../components/instant.tsx";
import { DataTable } from "../../../components/table.tsx";
import { VirtualBody } from "../../../components/virtual-body.tsx";
import type { CatalogueRow } from "./catalog-row.ts";
import { PriceCell, type PriceCellActions } from "./price-cell.tsx";

export interface CatalogueTableProps {
  readonly rows: readonly CatalogueRow[];
  readonly busy: boolean;
  readonly openAlias: string | null;
  readonly onOpen: (alias: string) => void;
  readonly onSavePrice: PriceCellActions["onSave"];
  readonly onHide: (row: CatalogueRow, hidden: boolean) => void;
  readonly empty: ReactNode;
}

interface Editing {
  readonly alias: string;
  readonly unit: Unit;
}

/** The models with their way, what they can do and what they cost; prices and listing are changed in place. */
export function CatalogueTable(props: CatalogueTableProps) {
  const { rows, busy, openAlias, onOpen, onSavePrice, onHide, empty } = props;
  const [editing, setEditing] = useState<Editing | null>(null);
  const onEdit = useCallback(
    (alias: string, unit: Unit | null) => setEditing(unit === null ? null : { alias, unit }),
    [],
  );
  const withAudio = rows.some(({ model }) => model.pricing.audio_seconds !== undefined);
  const columns = useMemo(
    () => toColumns({ onEdit, onSave: onSavePrice }, onHide, withAudio),
    [onEdit, onSavePrice, onHide, withAudio],
  );
  const shown = useMemo(
    () =>
      editing === null
        ? rows
        : rows.map((row) => (row.model.alias === editing.alias ? { ...row, editing: editing.unit } : row)),
    [rows, editing],
  );
  return (
    <DataTable
      caption="Models of the catalogue"
      columns={columns}
      rows={shown}
      getRowId={toId}
      sort={{ id: "model", descending: false }}
      busy={busy}
      skeletonRows={10}
      onRowActivate={({ model }) => onOpen(model.alias)}
      rowLabel={({ model }) => `Change ${model.alias}`}
      activeRowId={openAlias}
      body={VirtualBody}
      className="max-h-[70vh] min-h-40"
      empty={empty}
    />
  );
}

type OnHide = CatalogueTableProps["onHide"];

function toColumns(
  actions: PriceCellActions,
  onHide: OnHide,
  withAudio: boolean,
): readonly Column<CatalogueRow>[] {
  return [
    {
      id: "model",
      header: "Model",
      rowHeader: true,
      wrap: true,
      width: withAudio ? "w-64" : "w-76",
      sortValue: ({ model }) => model.alias,
      cell: ({ model, isProviderDisabled }) => (
        <span className="flex min-w-0 flex-wrap items-center gap-x-2 gap-y-1">
          <ArrowChain
            alias={model.alias}
            target={model.target}
            provider={model.provider}
            upstreamName={model.upstream_name}
          />
          {isProviderDisabled && <Badge tone="warn">provider disabled</Badge>}
        </span>
      ),
    },
    {
      id: "capabilities",
      header: "Can do",
      wrap: true,
      width: withAudio ? "w-36" : "w-44",
      cell: ({ model }) =>
        model.capabilities.length === 0 ? (
          <Badge tone="warn" title="Every request is refused until it can do something">
            nothing
          </Badge>
        ) : (
          <CapabilityChips capabilities={model.capabilities} />
        ),
    },
    toPriceColumn("input_tokens", "Input", actions),
    toPriceColumn("output_tokens", "Output", actions),
    toPriceColumn("cached_input_tokens", "Cached", actions),
    ...(withAudio ? [toPriceColumn("audio_seconds", "Audio", actions)] : []),
    {
      id: "listed",
      header: "Listed",
      headerTitle: "Whether GET /v1/models shows it; it serves either way",
      width: "w-20",
      sortValue: ({ model }) => (model.hidden ? 0 : 1),
      cell: (row) => (
        <SwitchField
          label={`${row.model.alias} listed`}
          labelHidden
          checked={!row.model.hidden}
          onCheckedChange={(listed) => onHide(row, !listed)}
        />
      ),
    },
    {
      id: "created",
      header: "Added, UTC",
      descendingFirst: true,
      width: "w-26",
      sortValue: ({ model }) => model.created_at,
      cell: ({ model }) => (
        <span className="flex flex-col text-xs text-ink-soft">
          <Instant value={model.created_at} format="date" />
          <span className="text-ink-faint">{model.origin}</span>
        </span>
      ),
    },
  ];
}

const PRICE_UNIT_TITLE = {
  input_tokens: "Dollars per million input tokens",
  output_tokens: "Dollars per million output tokens",
  cached_input_tokens: "Dollars per million cached input tokens",
  audio_seconds: "Dollars per million seconds of audio",
} as const satisfies Record<Unit, string>;

function toPriceColumn(unit: Unit, header: string, actions: PriceCellActions): Column<CatalogueRow> {
  return {
    id: unit,
    header,
    headerTitle: PRICE_UNIT_TITLE[unit],
    align: "end",
    width: "w-24",
    sortValue: ({ model }) => model.pricing[unit] ?? null,
    cell: (row) => <PriceCell row={row} unit={unit} actions={actions} />,
  };
}

function toId({ model }: CatalogueRow): string {
  return model.alias;
}
