import { useMemo } from "react";
import type { ModelKind } from "#catalog/capability-guess.ts";
import { UNITS } from "#kernel/units.ts";
import { ApiFailure } from "../../../api/failure.ts";
import { Badge } from "../../../components/chip.tsx";
import { Button } from "../../../components/button.tsx";
import { CAPABILITY_LABEL } from "../../../components/capability.tsx";
import { CheckboxField } from "../../../components/choice-field.tsx";
import type { Column } from "../../../components/column.ts";
import { CopyButton } from "../../../components/copy.tsx";
import { EmptyState } from "../../../components/empty.tsx";
import { Popover } from "../../../components/popover.tsx";
import { DataTable } from "../../../components/table.tsx";
import { VirtualBody } from "../../../components/virtual-body.tsx";
import { TextField } from "../../../components/text-field.tsx";
import { formatMoney } from "../../../text/format.ts";
import { CapabilityPicker } from "../../../catalog/capability-picker.tsx";
import { PriceInputs } from "../../../catalog/price-inputs.tsx";
import type { PriceFields } from "../../../catalog/price-set.ts";
import { isOffered, type BindAction, type BindRow } from "./bind-rows.ts";

export interface BindTableProps {
  readonly rows: readonly BindRow[];
  readonly onChange: (action: BindAction) => void;
  /** While models are being bound nothing can be changed. */
  readonly disabled: boolean;
}

/** The models of a provider: which to bind, under which name, as what, and for how much. */
export function BindTable({ rows, onChange, disabled }: BindTableProps) {
  const columns = useMemo(() => toColumns(onChange, disabled), [onChange, disabled]);
  return (
    <DataTable
      caption="Models of the provider"
      columns={columns}
      rows={rows}
      getRowId={toId}
      body={VirtualBody}
      className="max-h-[min(28rem,55vh)] rounded-control border border-line"
      empty={<EmptyState icon="search" title="No model matches" />}
    />
  );
}

function toColumns(onChange: (action: BindAction) => void, disabled: boolean): readonly Column<BindRow>[] {
  return [
    {
      id: "tick",
      header: "Bind",
      headerHidden: true,
      width: "w-11",
      cell: ({ upstreamName, boundAlias, isTicked }) => (
        <CheckboxField
          label={`Bind ${upstreamName}`}
          labelHidden
          checked={isTicked || boundAlias !== null}
          disabled={disabled || boundAlias !== null}
          onCheckedChange={(checked) =>
            onChange({ kind: "tick", upstreamNames: [upstreamName], isTicked: checked })
          }
        />
      ),
    },
    {
      id: "upstream",
      header: "Model of the provider",
      rowHeader: true,
      width: "w-68",
      cell: ({ upstreamName, isByHand }) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate font-mono text-xs" title={upstreamName}>
            {upstreamName}
          </span>
          {isByHand && <Badge>added manually</Badge>}
        </span>
      ),
    },
    {
      id: "alias",
      header: "Alias",
      width: "w-68",
      wrap: true,
      cell: (row) => <AliasCell row={row} disabled={disabled} onChange={onChange} />,
    },
    {
      id: "capabilities",
      header: "Capabilities",
      width: "w-52",
      cell: (row) =>
        row.boundAlias === null && <CapabilityCell row={row} disabled={disabled} onChange={onChange} />,
    },
    {
      id: "prices",
      header: "Prices",
      width: "w-40",
      cell: (row) =>
        row.boundAlias === null && <PriceCell row={row} disabled={disabled} onChange={onChange} />,
    },
  ];
}

interface CellProps {
  readonly row: BindRow;
  readonly disabled: boolean;
  readonly onChange: (action: BindAction) => void;
}

function AliasCell({ row, disabled, onChange }: CellProps) {
  const { upstreamName, boundAlias, alias, failure } = row;
  if (boundAlias !== null) {
    return (
      <span className="flex min-w-0 items-center gap-2">
        <Badge tone="good">bound</Badge>
        <span className="truncate" title={boundAlias}>
          {boundAlias}
        </span>
      </span>
    );
  }
  return (
    <>
      <TextField
        label={`Alias of ${upstreamName}`}
        labelHidden
        size="sm"
        mono
        value={alias}
        disabled={disabled}
        error={failure?.message}
        onValueChange={(text) => onChange({ kind: "edit", upstreamName, change: { alias: text } })}
      />
      {failure instanceof ApiFailure && (
        <span className="mt-0.5 flex items-center gap-1 text-xs">
          <code className="font-mono">{failure.code}</code>
          <CopyButton iconOnly text={`${failure.code}: ${failure.message}`} label="Copy the error" />
        </span>
      )}
    </>
  );
}

function CapabilityCell({ row, disabled, onChange }: CellProps) {
  const { upstreamName, capabilities } = row;
  const words = capabilities.map((capability) => CAPABILITY_LABEL[capability]).join(", ");
  // What no endpoint serves says what it is until somebody binds it in spite of that.
  if (!isOffered(row) && !row.isTicked)
    return <span className="text-ink-soft">{KIND_LABEL[row.kind]}: not served</span>;
  return (
    <Popover
      title={`Capabilities of ${upstreamName}`}
      trigger={
        <Button
          size="sm"
          variant="ghost"
          iconEnd="chevron-down"
          disabled={disabled}
          className="-ml-2.5 max-w-full"
        >
          <span className="truncate leading-5">{words === "" ? "nothing" : words}</span>
        </Button>
      }
    >
      <div className="w-72 max-w-full">
        <CapabilityPicker
          capabilities={capabilities}
          onChange={(next) => onChange({ kind: "edit", upstreamName, change: { capabilities: next } })}
        />
      </div>
    </Popover>
  );
}

/** What a model is taken for, where no endpoint serves it. */
const KIND_LABEL = {
  chat: "Chat",
  completions: "Completions",
  embeddings: "Embeddings",
  transcription: "Transcription",
  responses: "Responses API",
  realtime: "Realtime",
  speech: "Speech",
  image: "Images",
  video: "Video",
  moderation: "Moderation",
  rerank: "Reranking",
  other: "Another interface",
} as const satisfies Record<ModelKind, string>;

function PriceCell({ row: { upstreamName, prices }, disabled, onChange }: CellProps) {
  return (
    <Popover
      title={`Prices of ${upstreamName}`}
      align="end"
      trigger={
        <Button
          size="sm"
          variant="ghost"
          iconEnd="chevron-down"
          disabled={disabled}
          className="-ml-2.5 max-w-full"
        >
          <span className="truncate leading-5">{toPriceWords(prices)}</span>
        </Button>
      }
    >
      <div className="w-80 max-w-full">
        <p className="mb-3 text-xs text-ink-soft">
          Empty: the prices of a loaded feed apply. A unit without a price is recorded as unpriced.
        </p>
        <PriceInputs
          prices={prices}
          onChange={(next) => onChange({ kind: "edit", upstreamName, change: { prices: next } })}
        />
      </div>
    </Popover>
  );
}

function toPriceWords(prices: PriceFields): string {
  const written = UNITS.flatMap((unit) => prices[unit] ?? []);
  return written.length === 0 ? "not set" : written.map((price) => formatMoney(price)).join(" / ");
}

function toId({ upstreamName }: BindRow): string {
  return upstreamName;
}
