import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo, useState } from "react";
import type { Provider } from "../../api/catalog.ts";
import { teamSummaryQuery } from "../../api/reports.ts";
import { useMe } from "../../api/session.ts";
import { toShownUnits } from "../../catalog/price-set.ts";
import { Button, buttonClass } from "../../components/button.tsx";
import { CAPABILITIES_SHOWN, toCapabilityLabel } from "../../components/capability.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import { Dialog } from "../../components/dialog.tsx";
import type { EmptyStateProps } from "../../components/empty.tsx";
import { USUAL_PX, useIsWide } from "../../components/room.ts";
import type { Column } from "../../components/column.ts";
import { type ModelColumnsOptions, toModelCard, toModelColumns, toRequestCounts } from "./model-columns.tsx";
import { matchesRow, type ModelRow, type PublicModel } from "./model-row.ts";
import { useMinute } from "../../search/now.ts";
import { type ModelsSearch, readModelsSearch } from "../../search/pages.ts";
import { FilterField, ListPage, type ListPageProps, useListSearch } from "../../lists/list-page.tsx";
import { ModelSections } from "./sections.tsx";
import { toTimeWindow } from "../../search/window.ts";
import { SetupLink } from "../../setup/setup-link.tsx";
import { Snippets } from "../../snippets/snippets.tsx";
import { formatCount } from "../../text/format.ts";

/** Keep `name`, `price` and `more` at module level or in a memo: new ones are new columns. */
interface ModelsListProps<Row extends ModelRow>
  extends
    Pick<ModelColumnsOptions<Row>, "name" | "price" | "more">,
    Pick<
      ListPageProps<Row>,
      "lead" | "asked" | "rows" | "total" | "busy" | "above" | "notice" | "create" | "panel" | "actions"
    > {
  /** Offered as a filter; members have none. */
  readonly providers?: readonly Provider[] | undefined;
  /** What the button of a row does, before the alias: `Details of`. */
  readonly opens: string;
}

/** The page of models with its filters, for members and for administrators. */
export function ModelsList<Row extends ModelRow>(props: ModelsListProps<Row>): ReactNode {
  const { name, price, more, providers, opens, ...page } = props;
  const { search: address, change } = useListSearch();
  const search = readModelsSearch(address);
  const isAdmin = useMe().role === "admin";
  const [asked, setAsked] = useState<PublicModel | null>(null);
  const { since } = toTimeWindow({}, "30d", useMinute());
  const summary = useQuery(teamSummaryQuery({ since }));
  const counts = useMemo(
    () => toRequestCounts(summary.data, summary.error !== null),
    [summary.data, summary.error],
  );
  // As one text, which stays the same while prices are edited.
  const unitWords = toShownUnits((page.rows ?? []).map(({ model }) => model.pricing)).join(" ");
  const isTight = !useIsWide(USUAL_PX);
  const columns = useMemo(() => {
    const units = toUnits(unitWords);
    const all = toModelColumns<Row>({ counts, onSnippet: setAsked, name, price, units, more });
    // The rest stands in the details of a model: prices are compared side by side.
    const isRest = (column: Column<Row>) => column.id === "capabilities" || more.includes(column);
    return isTight ? all.filter((column) => !isRest(column)) : all;
  }, [counts, name, price, unitWords, more, isTight]);
  const card = useMemo(
    () => toModelCard<Row>({ onSnippet: setAsked, name, price, units: toUnits(unitWords) }),
    [name, price, unitWords],
  );
  const { provider, capability } = search;
  const matches = useCallback(
    (row: Row, q: string) => matchesRow(row, { q, provider, capability }),
    [provider, capability],
  );
  const showHidden = !isAdmin && search.hidden !== "1" && (
    <Button onClick={() => change({ hidden: "1" })}>Show hidden</Button>
  );
  return (
    <>
      <ListPage
        {...page}
        title="Models"
        sections={<ModelSections />}
        noun="model"
        isNamed
        caption="Models"
        columns={columns}
        card={card}
        skeletonRows={12}
        getRowId={({ model }) => model.alias}
        rowLabel={({ model }) => `${opens} ${model.alias}`}
        sort={BY_NAME}
        find={{
          label: "Find a model",
          placeholder: isAdmin ? "Name, target or upstream name" : "Name, target or provider",
          matches,
          clear: { capability: undefined, provider: undefined },
          action: showHidden,
        }}
        filters={(shown) => <ModelFilters providers={providers} shown={shown} total={page.total ?? null} />}
        none={
          isAdmin
            ? toNoModels((providers ?? []).length > 0)
            : {
                icon: "models",
                title: "No models yet",
                body: "An administrator adds models and the names that you call them by. Ask one of yours.",
                action: (
                  <>
                    {showHidden}
                    <SetupLink />
                  </>
                ),
              }
        }
      />
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

/** Leads an administrator on from an empty list. */
function toNoModels(hasProviders: boolean): EmptyStateProps {
  return {
    icon: "models",
    title: "No models yet",
    body: hasProviders
      ? "Discover the models of a provider and add those that your team may use."
      : "Add a provider first, then add its models.",
    action: hasProviders ? (
      <Link to="/providers" className={buttonClass({ variant: "primary" })}>
        Go to providers
      </Link>
    ) : (
      <SetupLink />
    ),
  };
}

const BY_NAME = { id: "alias", descending: false } as const;

function toUnits(words: string) {
  return toShownUnits([Object.fromEntries(words.split(" ").map((unit) => [unit, true]))]);
}

interface ModelFiltersProps {
  /** A filter of administrators, whose list always has hidden models; members have a switch for these instead. */
  readonly providers: readonly Provider[] | undefined;
  readonly shown: number;
  /** Null before it is known. */
  readonly total: number | null;
}

const CAPABILITY_OPTIONS = CAPABILITIES_SHOWN.map((capability) => ({
  value: capability,
  label: toCapabilityLabel(capability),
}));

/** Filters the models by text, capability, and provider or listing. */
function ModelFilters({ providers, shown, total }: ModelFiltersProps) {
  const { search: address, change } = useListSearch();
  const search = readModelsSearch(address);
  const onChange = (patch: ModelsSearch) => change(patch, { replace: true });
  return (
    <>
      {providers !== undefined && (
        <FilterField
          label="Provider"
          labelHidden
          className="w-44"
          all="All providers"
          options={providers.map(({ name, enabled }) => ({
            value: name,
            label: name,
            detail: enabled ? undefined : "disabled",
          }))}
          value={search.provider}
          onChange={(provider) => onChange({ provider })}
        />
      )}
      <FilterField
        label="Capability"
        labelHidden
        className="w-44"
        all="All capabilities"
        options={CAPABILITY_OPTIONS}
        value={search.capability}
        onChange={(capability) => onChange({ capability })}
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
    </>
  );
}

function toCountWords(shown: number, total: number): string {
  if (shown !== total) return `${formatCount(shown)} of ${formatCount(total)} models`;
  return total === 1 ? "1 model" : `${formatCount(total)} models`;
}
