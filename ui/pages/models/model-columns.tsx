import { Link } from "@tanstack/react-router";
import type { Unit } from "#kernel/units.ts";
import type { ListedModel } from "../../api/models.ts";
import { canBePriced } from "../../catalog/price-set.ts";
import { Absent } from "../../components/absent.tsx";
import { Badge } from "../../components/badge.tsx";
import { buttonClass, IconButton } from "../../components/button.tsx";
import { CapabilityChips } from "../../components/capability.tsx";
import { classNames } from "../../components/class-names.ts";
import { CopyButton } from "../../components/copy.tsx";
import { Icon } from "../../components/icon.tsx";
import { Money } from "../../components/money.tsx";
import type { Column } from "../../components/column.ts";
import { hasSnippets } from "../../snippets/snippets.tsx";
import { toRequestCount, type RequestCounts } from "./model-list.ts";
import { RequestCount } from "./request-count.tsx";

export interface ModelColumnsOptions {
  /** The names that lead to each model. */
  readonly names: ReadonlyMap<string, readonly string[]>;
  readonly counts: RequestCounts;
  readonly onSnippet: (model: ListedModel) => void;
}

export function toModelColumns({
  names,
  counts,
  onSnippet,
}: ModelColumnsOptions): readonly Column<ListedModel>[] {
  return [
    {
      id: "alias",
      header: "Name",
      rowHeader: true,
      width: "w-56",
      sortValue: ({ id }) => id,
      cell: (model) => <Name model={model} names={names.get(model.id) ?? []} />,
    },
    {
      id: "actions",
      header: "Use it",
      headerHidden: true,
      width: "w-26",
      cell: (model) => <Actions model={model} onSnippet={onSnippet} />,
    },
    {
      id: "capabilities",
      header: "Can",
      wrap: true,
      width: "w-40",
      cell: ({ capabilities }) => <CapabilityChips capabilities={capabilities} />,
    },
    priceColumn("input", "Input", "input_tokens"),
    priceColumn("cached", "Cached", "cached_input_tokens"),
    priceColumn("output", "Output", "output_tokens"),
    {
      id: "provider",
      header: "Provider",
      width: "w-28",
      sortValue: ({ owned_by: provider }) => provider,
      cell: ({ owned_by: provider }) => <span title={provider}>{provider}</span>,
    },
    {
      id: "requests",
      header: "Requests",
      headerTitle: "Answered or cancelled under this name in the last 30 days",
      width: "w-26",
      align: "end",
      sortValue: ({ id }) => toRequestCount(counts, id) ?? null,
      cell: ({ id }) => <RequestCount counts={counts} model={id} />,
    },
  ];
}

interface NameProps {
  readonly model: ListedModel;
  readonly names: readonly string[];
}

function Name({ model, names }: NameProps) {
  return (
    <span className="flex min-w-0 flex-col gap-0.5">
      <span className="flex min-w-0 items-center gap-2">
        <span className="truncate font-medium" title={model.id}>
          {model.id}
        </span>
        {model.hidden && (
          <Badge tone="warn" title="It serves requests, and is not on the public list">
            hidden
          </Badge>
        )}
      </span>
      {model.alias_of !== null && (
        <span className="flex min-w-0">
          <Badge title={`Requests go to ${model.alias_of}`}>
            <span className="truncate">name for {model.alias_of}</span>
          </Badge>
        </span>
      )}
      {names.length > 0 && (
        <span className="truncate text-xs text-ink-faint" title={`Also called ${names.join(", ")}`}>
          also called {names.join(", ")}
        </span>
      )}
    </span>
  );
}

interface ActionsProps {
  readonly model: ListedModel;
  readonly onSnippet: (model: ListedModel) => void;
}

function Actions({ model, onSnippet }: ActionsProps) {
  const { id, capabilities } = model;
  return (
    <span className="flex items-center">
      <CopyButton iconOnly text={id} label={`Copy the name ${id}`} />
      {hasSnippets(capabilities) && (
        <IconButton icon="code" size="sm" label={`How to call ${id}`} onClick={() => onSnippet(model)} />
      )}
      {capabilities.includes("chat") && (
        <Link
          to="/playground"
          search={{ model: id }}
          title={`Try ${id}`}
          aria-label={`Try ${id}`}
          className={classNames(buttonClass({ variant: "ghost", size: "sm" }), "w-7 px-0")}
        >
          <Icon name="play" />
        </Link>
      )}
    </span>
  );
}

function priceColumn(id: string, header: string, unit: Unit): Column<ListedModel> {
  return {
    id,
    header,
    headerTitle: `${header} tokens, price per million`,
    width: "w-22",
    align: "end",
    sortValue: ({ pricing }) => pricing?.[unit] ?? null,
    cell: (model) => <Price model={model} unit={unit} />,
  };
}

interface PriceProps {
  readonly model: ListedModel;
  readonly unit: Unit;
}

function Price({ model, unit }: PriceProps) {
  const price = model.pricing?.[unit] ?? null;
  if (price === null && !canBePriced(model, unit)) return <Absent />;
  return (
    <span className="inline-flex flex-col items-end">
      <Money value={price} />
      {unit === "input_tokens" && model.pricing_inherited === true && (
        <span
          className="text-xs text-ink-faint"
          title={`A price of this model is kept under another name${model.alias_of === null ? "" : `: ${model.alias_of}`}`}
        >
          inherited
        </span>
      )}
    </span>
  );
}
