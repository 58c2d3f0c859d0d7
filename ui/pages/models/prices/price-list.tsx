import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo } from "react";
import { byUnit, type Unit, UNIT_TABLE, UNITS } from "#kernel/units.ts";
import { RELAY_PROVIDER } from "#usage/event.ts";
import type { Model, Pricing } from "../../../api/catalog.ts";
import type { MissingPriceRow, MissingPrices, ReportNotes, TeamUsageRow } from "../../../api/reports.ts";
import { WithDetailPrices } from "../../../catalog/detail-prices.tsx";
import { toShownUnits } from "../../../catalog/price-set.ts";
import { Button, buttonClass, IconButton } from "../../../components/button.tsx";
import { Card } from "../../../components/card.tsx";
import { Badge } from "../../../components/chip.tsx";
import { type Column, countColumn, textColumn } from "../../../components/column.ts";
import { Absent, EmptyState, NotLoaded } from "../../../components/empty.tsx";
import { Instant } from "../../../components/instant.tsx";
import { DataTable } from "../../../components/table.tsx";
import { FindField } from "../../../lists/list-page.tsx";
import { formatCount, formatMoneyExact } from "../../../text/format.ts";

interface KeptCardProps {
  readonly pricing: Pricing;
  readonly rows: readonly NamePrices[];
  readonly query: string | undefined;
  readonly onQueryChange: (query: string | undefined) => void;
  readonly onEdit: (row: NamePrices) => void;
  readonly onLoad: () => void;
}

/** The prices that are kept, by name, and where they came from. */
export function KeptCard({ pricing, rows, query, onQueryChange, onEdit, onLoad }: KeptCardProps) {
  const shown = useMemo(() => rows.filter((row) => matchesPrices(row, query)), [rows, query]);
  return (
    <>
      <div role="search" aria-label="Filters" className="mb-4">
        <FindField
          label="Find a price"
          labelHidden
          placeholder="Model or version"
          className="w-full sm:w-72"
          value={query}
          onChange={onQueryChange}
        />
      </div>
      <Card title="Prices per million" lead={<LastFeed pricing={pricing} />} flush>
        <PriceTable
          rows={shown}
          onEdit={onEdit}
          empty={
            rows.length > 0 ? (
              <EmptyState icon="search" title="No price matches" />
            ) : (
              <EmptyState
                icon="pricing"
                title="No prices yet"
                body="Load a feed, or set the prices of a model. Until then all usage is recorded as unpriced."
                action={<Button onClick={onLoad}>Load prices</Button>}
              />
            )
          }
        />
      </Card>
    </>
  );
}

function LastFeed({ pricing: { version, loaded_at: loadedAt, entries } }: { readonly pricing: Pricing }) {
  const count = entries.length === 1 ? "1 price" : `${formatCount(entries.length)} prices`;
  if (version === null) return <>{count}. No feed has been loaded yet.</>;
  return (
    <>
      {count}. Last feed: <span className="text-ink">{version}</span>, loaded{" "}
      <Instant value={loadedAt} format="minute" />.
    </>
  );
}

interface PriceTableProps {
  readonly rows: readonly NamePrices[];
  readonly empty: ReactNode;
  readonly onEdit: (row: NamePrices) => void;
}

/** The prices that are kept, one name a row. */
function PriceTable({ rows, empty, onEdit }: PriceTableProps) {
  const columns = useMemo(
    () => toColumns(onEdit, toShownUnits(rows.map(({ prices }) => prices))),
    [onEdit, rows],
  );
  return (
    <DataTable
      caption="Prices per million units"
      columns={columns}
      rows={rows}
      hasFixedColumns
      getRowId={toId}
      sort={{ id: "name", descending: false }}
      empty={empty}
    />
  );
}

function toColumns(onEdit: (row: NamePrices) => void, units: readonly Unit[]): readonly Column<NamePrices>[] {
  return [
    {
      id: "name",
      header: "Model",
      rowHeader: true,
      width: units.length > 3 ? "w-64" : "w-80",
      sortValue: ({ name }) => name,
      cell: ({ name, kind }) => (
        <span className="flex min-w-0 items-center gap-2">
          <span className="truncate font-medium" title={name}>
            {name}
          </span>
          <KindBadge kind={kind} />
        </span>
      ),
    },
    ...units.map(toUnitColumn),
    {
      id: "source",
      header: "Source",
      width: "w-52",
      sortValue: ({ versions }) => versions[0] ?? null,
      cell: ({ versions }) => <Source versions={versions} />,
    },
    {
      id: "actions",
      header: "Actions",
      headerHidden: true,
      width: "w-14",
      align: "end",
      cell: (row) => (
        <IconButton icon="edit" size="sm" label={`Set price of ${row.name}`} onClick={() => onEdit(row)} />
      ),
    },
  ];
}

function toUnitColumn(unit: Unit): Column<NamePrices> {
  return {
    id: unit,
    header: UNIT_TABLE[unit].heading,
    headerTitle: `${UNIT_TABLE[unit].label}, per million`,
    width: "w-26",
    align: "end",
    sortValue: ({ prices }) => prices[unit]?.price_per_million ?? null,
    cell: ({ prices }) => {
      const price = prices[unit];
      return (
        <WithDetailPrices unit={unit} prices={toPerMillion(prices)}>
          {price === undefined ? <Absent /> : formatMoneyExact(price.price_per_million)}
        </WithDetailPrices>
      );
    },
  };
}

const toPerMillion = (prices: NamePrices["prices"]) =>
  byUnit(UNITS, (unit) => prices[unit]?.price_per_million);

function Source({ versions }: { readonly versions: NamePrices["versions"] }) {
  const words = versions.map((version) => version ?? "set with the model").join(", ");
  return (
    <span className="block truncate text-ink-soft" title={words}>
      {words}
    </span>
  );
}

function toId({ name }: NamePrices): string {
  return name;
}

type KeptPrice = Pricing["entries"][number];

/** The prices that are kept under one name. */
export interface NamePrices {
  readonly name: string;
  readonly prices: { readonly [unit in Unit]?: KeptPrice };
  /** What they came from, once each; null stands for a write with the model. */
  readonly versions: readonly (string | null)[];
  readonly kind: NameKind;
}

/** One row for each name, in the order of the entries. */
export function toNamePrices(
  entries: Pricing["entries"],
  models: readonly Model[],
  usage: readonly TeamUsageRow[],
): readonly NamePrices[] {
  const aliases = new Set(models.map(({ alias }) => alias));
  const upstreamNames = new Set(models.map(({ upstream_name: name }) => name));
  const relayed = new Set(
    usage.flatMap(({ model, provider }) => (provider === RELAY_PROVIDER ? [model] : [])),
  );
  const toKind = (name: string): NameKind => {
    if (aliases.has(name)) return "model";
    if (upstreamNames.has(name)) return "upstream";
    return relayed.has(name) ? "relay" : "gone";
  };
  const byName = new Map<string, KeptPrice[]>();
  for (const entry of entries) {
    const known = byName.get(entry.model);
    if (known === undefined) byName.set(entry.model, [entry]);
    else known.push(entry);
  }
  return [...byName].map(([name, kept]) => ({
    name,
    prices: Object.fromEntries(kept.map((price) => [price.unit, price])),
    versions: [...new Set(kept.map(({ version }) => version))],
    kind: toKind(name),
  }));
}

/** By part of the name or of a feed's version, whatever the case. */
function matchesPrices({ name, versions }: NamePrices, query: string | undefined): boolean {
  if (query === undefined) return true;
  const wanted = query.toLowerCase();
  return [name, ...versions].some((text) => text?.toLowerCase().includes(wanted) === true);
}

const NOTE = {
  model: null,
  upstream: { text: "upstream name", title: "Models with this upstream name inherit its prices" },
  relay: { text: "relay", title: "Relayed requests are priced by the model that they ask for" },
  gone: { text: "no model", title: "No model here has this alias or upstream name" },
} as const satisfies Record<NameKind, { readonly text: string; readonly title: string } | null>;

/** What a priced name is, where it is not simply a model's. */
function KindBadge({ kind }: { readonly kind: NameKind }) {
  const note = NOTE[kind];
  return note !== null && <Badge title={note.title}>{note.text}</Badge>;
}

/** What a priced name is: an alias, an upstream name, a relayed name, or a name that no model has any more. */
export type NameKind = MissingPriceRow["kind"] | "upstream";

function toModels(missing: readonly MissingPriceRow[]): readonly string[] {
  return [...new Set(missing.map(({ model }) => model))];
}

/** The rows whose next request will be without a price, too. */
export function toMissingNow({ missing }: MissingPrices): readonly MissingPriceRow[] {
  return missing.filter(({ has_price: hasPrice }) => !hasPrice);
}

/** Each is of one name, kind, unit and reason; no kind, unit or tier has a space. */
export function toMissingId({ kind, unit, model, reason = "" }: MissingPriceRow): string {
  return `${kind} ${unit} ${reason} ${model}`;
}

interface MissingCardProps {
  /** Undefined: it could not be asked for, or not yet. */
  readonly report: (MissingPrices & { readonly notes: ReportNotes }) | undefined;
  readonly busy: boolean;
  readonly onSetPrice: (missing: MissingPriceRow) => void;
}

/** What was used in the last 30 days and has no price now. */
export function MissingCard({ report, busy, onSetPrice }: MissingCardProps) {
  const missing = useMemo(() => (report === undefined ? [] : toMissingNow(report)), [report]);
  const columns = useMemo(() => toMissingColumns(onSetPrice), [onSetPrice]);
  return (
    <Card
      title="Used without a price"
      lead="Of the last 30 days (UTC). Past requests stay unpriced until they are re-priced."
      flush
      className="mb-6"
    >
      <DataTable
        caption="Used without a price"
        columns={columns}
        rows={missing}
        hasFixedColumns
        getRowId={toMissingId}
        sort={{ id: "quantity", descending: true }}
        busy={busy}
        skeletonRows={3}
        className="max-h-96"
        empty={
          report === undefined ? (
            <NotLoaded />
          ) : (
            <EmptyState
              icon="check"
              title="Every used unit has a price"
              body={
                report.missing.length === 0
                  ? undefined
                  : "Requests of these days that were recorded before their prices were set stay unpriced until they are re-priced."
              }
              action={
                report.missing.length > 0 && (
                  <Link
                    to="/models/repricing"
                    search={{ plan: "1", of: toModels(report.missing), unpriced: "1" }}
                    className={buttonClass()}
                  >
                    Re-price…
                  </Link>
                )
              }
            />
          )
        }
      />
      {report?.notes.isTruncated === true && (
        <p className="border-t border-line px-4 py-2 text-xs text-warn">
          The report is truncated: the list may be incomplete.
        </p>
      )}
    </Card>
  );
}

function toMissingColumns(
  onSetPrice: (missing: MissingPriceRow) => void,
): readonly Column<MissingPriceRow>[] {
  return [
    {
      id: "model",
      width: "w-61",
      header: "Model",
      rowHeader: true,
      sortValue: ({ model }) => model,
      cell: ({ model: name, kind, reason }) => (
        <span className="flex min-w-0 items-center gap-2">
          <Link
            to="/requests"
            search={{ model: name, range: "30d" }}
            className="max-w-64 truncate text-accent underline-offset-2 hover:underline"
            title={name}
          >
            {name}
          </Link>
          <KindBadge kind={kind} />
          {reason !== undefined && <Badge title="Prices do not hold for this tier">{reason}</Badge>}
        </span>
      ),
    },
    textColumn({ id: "unit", width: "w-40", header: "Unit", value: ({ unit }) => UNIT_TABLE[unit].label }),
    countColumn({
      id: "quantity",
      width: "w-28",
      header: "Quantity",
      value: ({ quantity }) => quantity,
    }),
    countColumn({
      id: "requests",
      width: "w-22",
      header: "Requests",
      headerTitle: "Requests that had some of it",
      value: ({ requests }) => requests,
    }),
    {
      id: "actions",
      width: "w-28",
      header: "Actions",
      headerHidden: true,
      align: "end",
      // A price would be for the standard tier, and not for this one.
      cell: (row) =>
        row.reason === undefined && (
          <Button
            size="sm"
            aria-label={`Set price for ${UNIT_TABLE[row.unit].label.toLowerCase()} of ${row.model}`}
            onClick={() => onSetPrice(row)}
          >
            Set price
          </Button>
        ),
    },
  ];
}
