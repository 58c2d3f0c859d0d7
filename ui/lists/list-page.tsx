import { useNavigate, useSearch } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo, useRef, useState } from "react";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { EmptyState, type EmptyStateProps, NotLoaded } from "../components/empty.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { PageHead, type PageHeadProps } from "../components/page-head.tsx";
import { GonePanel } from "../components/panel.tsx";
import { DataTable, type DataTableProps } from "../components/table.tsx";
import { SelectField, type SelectFieldProps } from "../components/select-field.tsx";
import { TextField, type TextFieldProps } from "../components/text-field.tsx";
import type {
  AuditSearch,
  LimitsSearch,
  ModelsSearch,
  PeopleSearch,
  RepricingSearch,
} from "../search/pages.ts";
import { formatCount } from "../text/format.ts";

/** A question to the server, as `useQuery` answers it. */
export interface Asked {
  readonly error: Error | null;
  readonly isPending: boolean;
  readonly isFetching: boolean;
  readonly refetch: () => unknown;
}

export interface ListPageProps<Row> extends PageHeadProps, ListTable<Row> {
  /** Everything that the page asks for, the list itself first. The first that failed is told, and can be asked again. */
  readonly asked: readonly [Asked, ...Asked[]];
  /** All rows; undefined while they are not known, or when they cannot be had. */
  readonly rows: readonly Row[] | undefined;
  /** How many there are on the server, which may be more than `rows`. */
  readonly total: number | undefined;
  /** Until the list itself has come, when absent. */
  readonly busy?: boolean | undefined;
  readonly find: {
    readonly label: string;
    readonly placeholder: string;
    /** Whether a row is found by a text, in lower case and perhaps empty. Keep it in a memo. */
    readonly matches: (row: Row, text: string) => boolean;
    /** Lifts what narrows the list beside the text. */
    readonly clear?: SearchPatch | undefined;
    /** Beside the button that clears the filters. */
    readonly action?: ReactNode;
  };
  /** Beside the search box. */
  readonly filters?: ((shown: number) => ReactNode) | undefined;
  /** What one row is: `limit`, `person or service`. */
  readonly noun: string;
  /** The id of a row is the name by which people know it. */
  readonly isNamed?: boolean | undefined;
  /** What stands in place of an empty list; the button that creates the first row is added where it has no action. */
  readonly none: EmptyStateProps;
  readonly create?: CreateProps | undefined;
  /** The panel of the row that the address opens; without one no row is opened. */
  readonly panel?: ((row: Row, close: () => unknown) => ReactNode) | undefined;
  /** Right below the headline, such as a navigation. */
  readonly sections?: ReactNode;
  /** Between the headline and the filters. */
  readonly above?: ReactNode;
  /** Between the filters and the list. */
  readonly notice?: ReactNode;
  /** Puts more around the list, such as tabs. */
  readonly around?: ((list: ReactNode) => ReactNode) | undefined;
}

interface CreateProps {
  /** The button of the page, and the one of an empty list. */
  readonly label: string;
  readonly first?: string | undefined;
  /** An address, or something else on the page, asks for it. */
  readonly isAsked?: boolean | undefined;
  /** `close` can open the row that was made. The focus returns to `toOpener`, the button of the page, where its own way back is gone. */
  readonly dialog: (close: (patch?: SearchPatch) => void, toOpener: () => HTMLElement | null) => ReactNode;
}

/** A page of rows: found by a text, opened in a panel by the address, created in a dialog. */
export function ListPage<Row>(props: ListPageProps<Row>): ReactNode {
  const { title, lead, actions, asked, rows, total, find, none, create, noun, panel, ...rest } = props;
  const {
    sections,
    isNamed = false,
    above,
    filters,
    notice,
    around,
    busy = asked[0].isPending,
    ...table
  } = rest;
  const { getRowId } = table;
  const { search, change, close } = useListSearch();
  const [isCreating, setCreating] = useState(false);
  const opener = useRef<HTMLButtonElement>(null);
  const wanted = (search.q ?? "").trim().toLowerCase();
  const { matches } = find;
  const shown = useMemo(() => rows?.filter((row) => matches(row, wanted)), [rows, matches, wanted]);
  const open = search.open === undefined ? undefined : rows?.find((row) => getRowId(row) === search.open);
  const list = (
    <Card flush>
      <RowList
        {...table}
        rows={busy ? (shown ?? NONE) : shown}
        busy={busy}
        onRowActivate={panel && ((row: Row) => change({ open: getRowId(row) }))}
        activeRowId={search.open ?? null}
        empty={
          (rows ?? NONE).length > 0 ? (
            <EmptyState
              icon="search"
              title={`No ${noun} matches`}
              action={
                <>
                  <Button onClick={() => change({ q: undefined, ...find.clear }, { replace: true })}>
                    Clear filters
                  </Button>
                  {find.action}
                </>
              }
            />
          ) : (
            <EmptyState
              action={
                create !== undefined && <Button onClick={() => setCreating(true)}>{create.first}</Button>
              }
              {...none}
            />
          )
        }
        cut={{ listed: rows?.length ?? 0, total: total ?? 0 }}
      />
    </Card>
  );
  return (
    <>
      <PageHead
        title={title}
        lead={lead}
        actions={
          <>
            {actions}
            {create !== undefined && (
              <Button ref={opener} variant="primary" icon="plus" onClick={() => setCreating(true)}>
                {create.label}
              </Button>
            )}
          </>
        }
      />
      {sections}
      <Failures asked={asked} />
      {above}
      <div role="search" aria-label="Filters" className="mb-4 flex flex-wrap items-center gap-3">
        <FindField
          label={find.label}
          labelHidden
          placeholder={find.placeholder}
          className="w-full sm:w-72"
          value={search.q}
          onChange={(q, options) => change({ q }, options)}
        />
        {filters?.(shown?.length ?? 0)}
      </div>
      {notice}
      {around === undefined ? list : around(list)}
      {open !== undefined && panel?.(open, close)}
      {panel !== undefined &&
        search.open !== undefined &&
        open === undefined &&
        rows !== undefined &&
        !asked[0].isFetching && (
          <GonePanel what={noun} name={isNamed ? search.open : undefined} onClose={() => void close()} />
        )}
      {create !== undefined &&
        (isCreating || create.isAsked === true) &&
        create.dialog(
          (patch) => {
            setCreating(false);
            if (patch !== undefined) change(patch);
          },
          () => opener.current,
        )}
    </>
  );
}

const NONE: readonly never[] = [];

interface FindFieldProps extends Pick<TextFieldProps, "label" | "labelHidden" | "placeholder" | "className"> {
  readonly value: string | undefined;
  readonly onChange: (text: string | undefined, options: { readonly replace: true }) => void;
}

/** The text by which the rows of a page are found; the key `/` leads to it. */
export function FindField({ value = "", onChange, ...field }: FindFieldProps): ReactNode {
  return (
    <TextField
      {...field}
      type="search"
      icon="search"
      isPageFilter
      value={value}
      // Each letter would be a step back otherwise.
      onValueChange={(text) => onChange(text === "" ? undefined : text, { replace: true })}
    />
  );
}

/** Stands for every value: no name is spelled so. */
const ALL = "*";

interface FilterFieldProps<Value extends string> extends Pick<
  SelectFieldProps<string>,
  "label" | "labelHidden" | "className"
> {
  /** The choice that filters nothing: `All providers`. */
  readonly all: string;
  readonly options: readonly {
    readonly value: Value;
    readonly label: string;
    readonly detail?: string | undefined;
  }[];
  readonly value: Value | undefined;
  readonly onChange: (value: Value | undefined) => void;
}

/** Narrows a list to the rows of one value. */
export function FilterField<Value extends string>(props: FilterFieldProps<Value>): ReactNode {
  const { all, options, value, onChange, ...field } = props;
  return (
    <SelectField<string>
      {...field}
      options={[{ value: ALL, label: all }, ...options]}
      value={value ?? ALL}
      onValueChange={(next) => onChange(options.find((option) => option.value === next)?.value)}
    />
  );
}

type SearchPatch = PeopleSearch & LimitsSearch & ModelsSearch & AuditSearch & RepricingSearch;

/** The address of a list, and a way to change part of it. */
export function useListSearch() {
  const search = useSearch({ strict: false });
  const navigate = useNavigate();
  const go = useCallback(
    (patch: SearchPatch, replace: boolean) =>
      navigate({
        to: ".",
        search: (before: object) => ({ ...before, ...patch }),
        replace,
        resetScroll: false,
      }),
    [navigate],
  );
  const change = useCallback((patch: SearchPatch, { replace = false } = {}) => void go(patch, replace), [go]);
  /** Ends when the row is no longer shown: what is asked for anew after its removal must not ask for the row. */
  const close = useCallback(() => go({ open: undefined }, false), [go]);
  return { search, change, close };
}

/** The first question that failed, with a way to ask it again. */
export function Failures({ asked }: { readonly asked: readonly Asked[] }): ReactNode {
  const failed = asked.find(({ error }) => error !== null);
  if (failed === undefined || failed.error === null) return null;
  return (
    <div className="mb-4">
      <ErrorNotice failure={failed.error} onRetry={() => void failed.refetch()} />
    </div>
  );
}

type ListTable<Row> = Pick<
  DataTableProps<Row>,
  "caption" | "columns" | "getRowId" | "sort" | "rowLabel" | "card" | "skeletonRows"
>;

export interface RowListProps<Row>
  extends ListTable<Row>, Pick<DataTableProps<Row>, "onRowActivate" | "activeRowId"> {
  /** Undefined: they could not be asked for. */
  readonly rows: readonly Row[] | undefined;
  readonly busy: boolean;
  readonly empty: ReactNode;
  /** How many rows of how many the page has. */
  readonly cut?: { readonly listed: number; readonly total: number } | undefined;
}

/** The rows of a list in columns of fixed width: rows that come move no header. */
export function RowList<Row>({ rows, cut, empty, ...table }: RowListProps<Row>): ReactNode {
  return (
    <>
      <DataTable
        skeletonRows={5}
        {...table}
        rows={rows ?? NONE}
        hasFixedColumns
        empty={rows === undefined ? <NotLoaded /> : empty}
      />
      {cut !== undefined && cut.total > cut.listed && cut.listed > 0 && (
        <p className="border-t border-line px-4 py-2 text-xs text-ink-soft">
          The first {formatCount(cut.listed)} of {formatCount(cut.total)} are listed.
        </p>
      )}
    </>
  );
}
