import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Unit, UNIT_TABLE } from "#kernel/units.ts";
import type { ReportNotes, TeamUsageRow } from "../../api/reports.ts";
import { WithDetailPrices } from "../../catalog/detail-prices.tsx";
import { buttonClass, IconButton } from "../../components/button.tsx";
import { CapabilityChips } from "../../components/capability.tsx";
import { Badge } from "../../components/chip.tsx";
import { classNames } from "../../components/class-names.ts";
import type { Column } from "../../components/column.ts";
import { CopyButton } from "../../components/copy.tsx";
import { Icon } from "../../components/icon.tsx";
import { ShareBar } from "../../components/share-bar.tsx";
import type { ModelRow, PublicModel } from "./model-row.ts";
import { hasSnippets } from "../../snippets/snippets.tsx";
import { formatCount } from "../../text/format.ts";

export interface ModelColumnsOptions<Row extends ModelRow> {
  readonly counts: RequestCounts;
  readonly onSnippet: (model: PublicModel) => void;
  readonly name: (row: Row) => ReactNode;
  readonly price: (row: Row, unit: Unit) => ReactNode;
  readonly units: readonly Unit[];
  /** Columns after the prices. */
  readonly more: readonly Column<Row>[];
}

/** The columns of the model list, for members and for administrators. */
export function toModelColumns<Row extends ModelRow>({
  counts,
  onSnippet,
  name,
  price,
  units,
  more,
}: ModelColumnsOptions<Row>): readonly Column<Row>[] {
  // With a fourth price the others give way: no list scrolls sideways in 1280 pixels.
  const isTight = units.length > 3;
  return [
    {
      id: "alias",
      header: "Name",
      rowHeader: true,
      wrap: true,
      width: isTight ? "w-45" : "w-54",
      sortValue: ({ model }) => model.alias,
      cell: (row) => (
        <span className="flex min-w-0 flex-col gap-0.5">
          {name(row)}
          {row.names.length > 0 && (
            <span className="truncate text-xs text-ink-faint" title={`Also called ${row.names.join(", ")}`}>
              also called {row.names.join(", ")}
            </span>
          )}
        </span>
      ),
    },
    {
      id: "actions",
      header: "Use it",
      headerHidden: true,
      width: "w-24",
      cell: ({ model }) => <Actions model={model} onSnippet={onSnippet} />,
    },
    {
      id: "capabilities",
      header: "Capabilities",
      wrap: true,
      width: isTight ? "w-28" : "w-36",
      cell: ({ model }) =>
        model.capabilities.length === 0 ? (
          <Badge tone="warn" title="Every request is refused until a capability is declared">
            none
          </Badge>
        ) : (
          <CapabilityChips capabilities={model.capabilities} />
        ),
    },
    ...units.map((unit): Column<Row> => ({
      id: unit,
      header: UNIT_TABLE[unit].heading,
      headerTitle: `${UNIT_TABLE[unit].label}, dollars per million`,
      width: isTight ? "w-21" : "w-22",
      align: "end",
      amount: ({ model }) => model.pricing[unit] ?? null,
      sortValue: ({ model }) => model.pricing[unit] ?? null,
      cell: (row) => (
        <WithDetailPrices unit={unit} prices={row.model.pricing}>
          {price(row, unit)}
        </WithDetailPrices>
      ),
    })),
    {
      id: "requests",
      header: "Requests",
      headerTitle: "Answered or cancelled under this name in the last 30 days",
      width: isTight ? "w-21" : "w-22",
      align: "end",
      sortValue: ({ model }) => toRequestCount(counts, model.alias) ?? null,
      cell: ({ model }) => <RequestCount counts={counts} model={model.alias} />,
    },
    ...more,
  ];
}

/** A model where there is no room for columns: each price beside its unit, none of them out of sight. */
export function toModelCard<Row extends ModelRow>({
  onSnippet,
  name,
  price,
  units,
}: Pick<ModelColumnsOptions<Row>, "onSnippet" | "name" | "price" | "units">): (row: Row) => ReactNode {
  return (row) => (
    <span className="flex min-w-0 flex-col gap-1.5 py-1">
      <span className="flex min-w-0 flex-col gap-0.5">{name(row)}</span>
      <CapabilityChips capabilities={row.model.capabilities} />
      <span className="grid grid-cols-[1fr_auto] items-center gap-x-3">
        {units.map((unit) => (
          <span key={unit} className="contents">
            <span className="text-xs text-ink-soft">{UNIT_TABLE[unit].heading}, per million</span>
            <span className="text-right">{price(row, unit)}</span>
          </span>
        ))}
      </span>
      <Actions model={row.model} onSnippet={onSnippet} />
    </span>
  );
}

interface ActionsProps {
  readonly model: PublicModel;
  readonly onSnippet: (model: PublicModel) => void;
}

function Actions({ model, onSnippet }: ActionsProps) {
  const { alias, capabilities } = model;
  return (
    <span className="flex items-center">
      <CopyButton iconOnly text={alias} label={`Copy the name ${alias}`} />
      {hasSnippets(capabilities) && (
        <IconButton icon="code" size="sm" label={`How to call ${alias}`} onClick={() => onSnippet(model)} />
      )}
      {(capabilities.includes("chat") || capabilities.includes("responses")) && (
        <Link
          to="/playground"
          search={{ model: alias }}
          title={`Try ${alias}`}
          aria-label={`Try ${alias}`}
          className={classNames(buttonClass({ variant: "ghost", size: "sm" }), "w-7 px-0")}
        >
          <Icon name="play" />
        </Link>
      )}
    </span>
  );
}

/** Requests by the name that was asked for. */
interface RequestCounts {
  /** Undefined until it is known. */
  readonly byModel: ReadonlyMap<string, number> | undefined;
  readonly largest: number;
  /** Rare rows were left out: each number may be too low. */
  readonly isTruncated: boolean;
  readonly isFailed: boolean;
}

interface CountedUsage {
  readonly usage: readonly Pick<TeamUsageRow, "model" | "requests">[];
  readonly notes: ReportNotes;
}

export function toRequestCounts(summary: CountedUsage | undefined, isFailed: boolean): RequestCounts {
  if (summary === undefined) return { byModel: undefined, largest: 0, isTruncated: false, isFailed };
  const byModel = new Map<string, number>();
  for (const { model, requests } of summary.usage) {
    byModel.set(model, (byModel.get(model) ?? 0) + requests);
  }
  const largest = Math.max(0, ...byModel.values());
  return { byModel, largest, isTruncated: summary.notes.isTruncated, isFailed };
}

/** Undefined until it is known; a model without requests has 0. */
function toRequestCount({ byModel }: RequestCounts, model: string): number | undefined {
  return byModel === undefined ? undefined : (byModel.get(model) ?? 0);
}

const BAR_PX = 48;

/** Requests under a name, beside a bar of its share of the largest; the cell has its width before the number is known. */
function RequestCount({ counts, model }: { readonly counts: RequestCounts; readonly model: string }) {
  const count = toRequestCount(counts, model);
  return (
    <span className="flex items-center justify-end gap-2">
      <span className="hidden 2xl:block">
        <ShareBar
          share={count === undefined || count === 0 ? null : count / counts.largest}
          widthPx={BAR_PX}
        />
      </span>
      <span className="min-w-16" title={toTitle(counts)}>
        {count === undefined ? (
          <span className="text-ink-faint">{counts.isFailed ? "–" : "…"}</span>
        ) : (
          `${counts.isTruncated ? "≥ " : ""}${formatCount(count)}`
        )}
      </span>
    </span>
  );
}

function toTitle({ isFailed, isTruncated }: RequestCounts): string | undefined {
  if (isFailed) return "Usage could not be read";
  return isTruncated ? "At least this many: the report was truncated" : undefined;
}
