import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useMemo, useState } from "react";
import { CAPABILITIES } from "#catalog/capability.ts";
import type { Provider } from "../../api/catalog.ts";
import { teamSummaryQuery } from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { toShownUnits } from "../../catalog/price-set.ts";
import { Button, buttonClass } from "../../components/button.tsx";
import { CAPABILITIES_SHOWN, toCapabilityLabel } from "../../components/capability.tsx";
import { Card } from "../../components/card.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import { Dialog } from "../../components/dialog.tsx";
import { EmptyState, NotLoaded } from "../../components/empty.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { DataTable } from "../../components/table.tsx";
import { TextField } from "../../components/text-field.tsx";
import { type ModelColumnsOptions, toModelCard, toModelColumns, toRequestCounts } from "./model-columns.tsx";
import { matchesRow, type ModelRow, type PublicModel } from "./model-row.ts";
import { useMinute } from "../../search/now.ts";
import type { ModelsSearch } from "../../search/pages.ts";
import { toTimeWindow } from "../../search/window.ts";
import { SetupLink } from "../../setup/setup-link.tsx";
import { Snippets } from "../../snippets/snippets.tsx";
import { formatCount } from "../../text/format.ts";

/** Keep `name`, `price` and `more` at module level or in a memo: new ones are new columns. */
interface ModelListProps<Row extends ModelRow> extends Pick<
  ModelColumnsOptions<Row>,
  "name" | "price" | "more"
> {
  /** Undefined: they could not be asked for, or not yet. */
  readonly rows: readonly Row[] | undefined;
  readonly busy: boolean;
  /** Models on the server, which may be more than `rows`; null before that is known. */
  readonly total: number | null;
  /** Offered as a filter; members have none. */
  readonly providers?: readonly Provider[] | undefined;
  readonly search: ModelsSearch;
  readonly onChange: (patch: ModelsSearch, options?: { readonly replace?: boolean }) => void;
  /** What the button of a row does, before the alias: `Details of`. */
  readonly opens: string;
  /** Stands between the filters and the table. */
  readonly notice?: ReactNode;
}

/** The list of models with its filters, for members and for administrators. */
export function ModelList<Row extends ModelRow>(props: ModelListProps<Row>): ReactNode {
  const { rows = [], search, onChange, name, price, more } = props;
  const [asked, setAsked] = useState<PublicModel | null>(null);
  const { since } = toTimeWindow({}, "30d", useMinute());
  const summary = useQuery(teamSummaryQuery({ since }));
  const counts = useMemo(
    () => toRequestCounts(summary.data, summary.error !== null),
    [summary.data, summary.error],
  );
  // As one text, which stays the same while prices are edited.
  const unitWords = toShownUnits(rows.map(({ model }) => model.pricing)).join(" ");
  const columns = useMemo(
    () =>
      toModelColumns<Row>({
        counts,
        onSnippet: setAsked,
        name,
        price,
        units: toUnits(unitWords),
        more,
      }),
    [counts, name, price, unitWords, more],
  );
  const card = useMemo(
    () => toModelCard<Row>({ onSnippet: setAsked, name, price, units: toUnits(unitWords) }),
    [name, price, unitWords],
  );
  const shown = useMemo(() => rows.filter((row) => matchesRow(row, search)), [rows, search]);
  return (
    <>
      <ModelFilters
        search={search}
        providers={props.providers}
        shown={shown.length}
        total={props.total}
        onChange={(patch) => onChange(patch, { replace: true })}
      />
      {props.notice}
      <Card flush className="overflow-hidden">
        <DataTable
          caption="Models"
          columns={columns}
          rows={props.busy && props.rows === undefined ? [] : shown}
          getRowId={toAlias}
          sort={BY_NAME}
          busy={props.busy}
          skeletonRows={12}
          hasFixedColumns
          card={card}
          onRowActivate={({ model }) => onChange({ open: model.alias })}
          rowLabel={({ model }) => `${props.opens} ${model.alias}`}
          activeRowId={search.open ?? null}
          empty={
            props.rows === undefined ? (
              <NotLoaded />
            ) : (
              <NoModels
                isFiltered={rows.length > 0}
                canShowHidden={props.providers === undefined && search.hidden !== "1"}
                hasProviders={(props.providers ?? []).length > 0}
                onChange={onChange}
              />
            )
          }
        />
      </Card>
      {asked !== null && (
        <Dialog
          open
          onOpenChange={(open) => !open && setAsked(null)}
          title={`How to call ${asked.alias}`}
          description="Put one of your own keys in LOCKPORT_KEY"
          size="lg"
        >
          <Snippets kind="openai" model={asked.alias} capabilities={asked.capabilities} />
        </Dialog>
      )}
    </>
  );
}

const BY_NAME = { id: "alias", descending: false } as const;

function toUnits(words: string) {
  return toShownUnits([Object.fromEntries(words.split(" ").map((unit) => [unit, true]))]);
}

function toAlias({ model }: ModelRow): string {
  return model.alias;
}

interface ModelFiltersProps {
  readonly search: ModelsSearch;
  readonly onChange: (patch: ModelsSearch) => void;
  /** A filter of administrators, whose list always has hidden models; members have a switch for these instead. */
  readonly providers: readonly Provider[] | undefined;
  readonly shown: number;
  /** Null before it is known. */
  readonly total: number | null;
}

const ANY = "any";
/** No provider has this name. */
const ANY_PROVIDER = "*";
const OPTIONS = [
  { value: ANY, label: "All capabilities" },
  ...CAPABILITIES_SHOWN.map((capability) => ({ value: capability, label: toCapabilityLabel(capability) })),
];

/** Filters the models by text, capability, and provider or listing. */
function ModelFilters({ search, onChange, providers, shown, total }: ModelFiltersProps) {
  return (
    <div role="search" aria-label="Filters" className="mb-4 flex flex-wrap items-center gap-3">
      <TextField
        label="Find a model"
        labelHidden
        type="search"
        icon="search"
        placeholder={providers === undefined ? "Name, target or provider" : "Name, target or upstream name"}
        className="w-full sm:w-64"
        isPageFilter
        value={search.q ?? ""}
        onValueChange={(q) => onChange({ q: q === "" ? undefined : q })}
      />
      {providers !== undefined && (
        <SelectField
          label="Provider"
          labelHidden
          className="w-44"
          options={[
            { value: ANY_PROVIDER, label: "All providers" },
            ...providers.map(({ name, enabled }) => ({
              value: name,
              label: name,
              detail: enabled ? undefined : "disabled",
            })),
          ]}
          value={search.provider ?? ANY_PROVIDER}
          onValueChange={(provider: string) =>
            onChange({ provider: provider === ANY_PROVIDER ? undefined : provider })
          }
        />
      )}
      <SelectField
        label="Capability"
        labelHidden
        className="w-44"
        options={OPTIONS}
        value={search.capability ?? ANY}
        onValueChange={(capability: string) =>
          onChange({ capability: CAPABILITIES.find((known) => known === capability) })
        }
      />
      {providers === undefined && (
        <SwitchField
          label="Show hidden"
          checked={search.hidden === "1"}
          onCheckedChange={(isShown) => onChange({ hidden: isShown ? "1" : undefined })}
        />
      )}
      <p role="status" className="ml-auto min-h-4 w-40 text-right text-xs text-ink-soft">
        {total !== null && toCountWords(shown, total)}
      </p>
    </div>
  );
}

function toCountWords(shown: number, total: number): string {
  if (shown !== total) return `${formatCount(shown)} of ${formatCount(total)} models`;
  return total === 1 ? "1 model" : `${formatCount(total)} models`;
}

interface NoModelsProps {
  /** There are models, and the filters leave none of them. */
  readonly isFiltered: boolean;
  readonly canShowHidden: boolean;
  readonly hasProviders: boolean;
  readonly onChange: (patch: ModelsSearch) => void;
}

/** Says why the list is empty, and leads on. */
function NoModels({ isFiltered, canShowHidden, hasProviders, onChange }: NoModelsProps) {
  const { role } = useMe();
  const showHidden = canShowHidden && <Button onClick={() => onChange({ hidden: "1" })}>Show hidden</Button>;
  if (isFiltered) {
    return (
      <EmptyState
        icon="search"
        title="No model matches"
        action={
          <>
            <Button onClick={() => onChange({ q: undefined, capability: undefined, provider: undefined })}>
              Clear filters
            </Button>
            {showHidden}
          </>
        }
      />
    );
  }
  if (role !== "admin") {
    return (
      <EmptyState
        icon="models"
        title="No models yet"
        body="An administrator adds models and the names that you call them by. Ask one of yours."
        action={
          <>
            {showHidden}
            <SetupLink />
          </>
        }
      />
    );
  }
  return (
    <EmptyState
      icon="models"
      title="No models yet"
      body={
        hasProviders
          ? "Discover the models of a provider and add those that your team may use."
          : "Add a provider first, then add its models."
      }
      action={
        hasProviders ? (
          <Link to="/providers" className={buttonClass({ variant: "primary" })}>
            Go to providers
          </Link>
        ) : (
          <SetupLink />
        )
      }
    />
  );
}
