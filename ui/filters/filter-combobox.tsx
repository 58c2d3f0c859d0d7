import { Combobox } from "@base-ui/react/combobox";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { useNavigate } from "@tanstack/react-router";
import {
  facetsQuery,
  foundRequestQuery,
  type RefusedRequest,
  type RequestRow,
  requestsQuery,
} from "../api/reports.ts";
import { Icon } from "../components/icon.tsx";
import type { Report } from "../search/report.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { formatCountCompact, formatCounted } from "../text/format.ts";
import { formatInZone, type TimeZone, useTimeZone } from "../text/time-zone.ts";
import { FILTER_INPUT, type Typed } from "./filter-input.ts";
import { type FilterGroup, type FilterOption, parseIdBeginning, toFilterGroups } from "./filter-options.ts";

export interface FilterComboboxProps {
  readonly report: Report;
  /** What was typed into the box in whose place it comes. */
  readonly begun: Typed;
}

/** The box with its list, which is open when it comes: it goes on from a box that was just used, and has its focus. */
export function FilterCombobox({ report, begun }: FilterComboboxProps) {
  const [typed, setTyped] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const untyped = useRef<Typed | null>(begun);
  const caret = useRef<readonly [start: number, end: number]>(null);
  useLayoutEffect(() => {
    takeFocus(input.current);
    caret.current ??= typeInto(input.current, untyped.current);
    untyped.current = null;
  }, []);
  useLayoutEffect(() => {
    if (caret.current === null || typed === "") return;
    // A text that is put into a field takes the caret to its end.
    input.current?.setSelectionRange(...caret.current);
    caret.current = null;
  }, [typed]);
  const facets = useQuery({
    ...facetsQuery({ since: report.query.since, until: report.query.until }),
    placeholderData: keepPreviousData,
  });
  const { contains } = Combobox.useFilter();
  const isGuessed = !facets.isPending;
  const found = useRequestsById(typed);
  const zone = useTimeZone();
  const groups = useMemo(
    () => [
      ...toRequestGroups(found, zone),
      ...toFilterGroups(facets.data, report.filters, { typed, isGuessed, contains }),
    ],
    [found, zone, facets.data, report.filters, typed, isGuessed, contains],
  );
  const active = useMemo(() => groups.flatMap(({ items }) => items.filter(({ isOn }) => isOn)), [groups]);
  const navigate = useNavigate();
  const take = (option: FilterOption) => {
    setTyped("");
    if (option.request === undefined) report.change(option.patch);
    else {
      const open = option.request;
      void navigate({ to: "/requests", search: (current: object) => ({ ...current, open }) });
    }
  };

  return (
    <Combobox.Root<FilterOption, true>
      multiple
      defaultOpen
      items={groups}
      value={active}
      // One more or one less: the list stays open, so that several are ticked one after the other.
      onValueChange={(options) => {
        const changed = toChanged(active, options);
        if (changed !== null) take(changed);
      }}
      inputValue={typed}
      onInputValueChange={setTyped}
      itemToStringLabel={(option) => option.label}
      isItemEqualToValue={(option, value) => option.id === value.id}
      filter={null}
      autoHighlight
    >
      <Combobox.Input
        {...FILTER_INPUT}
        ref={input}
        onKeyDown={(event) => {
          // With nothing to take, it would close the list and throw away what was typed.
          if (event.key === "Enter" && !event.currentTarget.hasAttribute("aria-activedescendant"))
            event.preventBaseUIHandler();
        }}
      />
      <Combobox.Portal>
        <Combobox.Positioner sideOffset={4} align="start" collisionPadding={8} className="z-40">
          <Combobox.Popup className="w-80 max-w-(--available-width) rounded-card border border-line bg-raised text-sm text-ink shadow-raised outline-hidden">
            <Combobox.Empty>
              <p className="p-3 text-ink-soft empty:hidden">
                {facets.isPending || found.isPending ? "Loading suggestions…" : "No match in this window"}
              </p>
            </Combobox.Empty>
            <Combobox.List className="max-h-[min(22rem,var(--available-height))] overflow-y-auto overscroll-contain py-1 outline-hidden">
              {(group: FilterGroup) => (
                <Combobox.Group key={group.label} items={group.items} className="pb-1">
                  <Combobox.GroupLabel className="px-3 pt-2 pb-1 text-xs font-medium text-ink-faint">
                    {group.label}
                  </Combobox.GroupLabel>
                  <Combobox.Collection>
                    {(option: FilterOption) => (
                      <Combobox.Item
                        key={option.id}
                        value={option}
                        className="relative mx-1 flex cursor-default items-baseline gap-2 rounded-control px-2 py-1.5 select-none data-highlighted:bg-accent-soft"
                      >
                        <Icon
                          name="check"
                          size={14}
                          className={option.isOn ? "self-center text-accent" : "invisible self-center"}
                        />
                        <span title={option.label} className="min-w-0 flex-1 truncate">
                          {option.label}
                        </span>
                        {option.requests !== null && <RequestCount requests={option.requests} />}
                      </Combobox.Item>
                    )}
                  </Combobox.Collection>
                </Combobox.Group>
              )}
            </Combobox.List>
          </Combobox.Popup>
        </Combobox.Positioner>
      </Combobox.Portal>
    </Combobox.Root>
  );
}

/** The option that is in one of the lists alone. */
function toChanged(before: readonly FilterOption[], after: readonly FilterOption[]): FilterOption | null {
  const isIn = (options: readonly FilterOption[], { id }: FilterOption) =>
    options.some((one) => one.id === id);
  return (
    after.find((option) => !isIn(before, option)) ?? before.find((option) => !isIn(after, option)) ?? null
  );
}

const NO_ROWS: readonly RequestRow[] = [];
/** More of one beginning are told apart by another digit. */
const REQUESTS_SHOWN_MAX = 5;

interface FoundById {
  readonly requests: readonly RequestRow[];
  readonly refusal: RefusedRequest | null;
  readonly isPending: boolean;
}

/** Requests whose id begins with the text, when the text can be such a beginning; a refused one by its whole id. */
function useRequestsById(typed: string): FoundById {
  const id = parseIdBeginning(typed);
  const { data, isLoading } = useQuery({
    ...requestsQuery({ since: id?.since, until: id?.until }, { limit: PAGE_LIMIT_MAX }),
    enabled: id !== null,
  });
  const beginning = id?.beginning ?? "";
  const isWhole = beginning.length === ID_LENGTH;
  const found = useQuery({ ...foundRequestQuery(beginning), enabled: isWhole });
  return useMemo(() => {
    const rows = beginning === "" ? NO_ROWS : (data?.requests ?? NO_ROWS);
    return {
      requests: rows.filter((row) => row.id.startsWith(beginning)).slice(0, REQUESTS_SHOWN_MAX),
      refusal: isWhole ? (found.data?.refusal ?? null) : null,
      isPending: isLoading || found.isLoading,
    };
  }, [data, beginning, isLoading, isWhole, found.data, found.isLoading]);
}

/** A UUID. */
const ID_LENGTH = 36;

function toRequestGroups({ requests, refusal }: FoundById, zone: TimeZone): readonly FilterGroup[] {
  const toOption = (id: string, ts: string, what: string) => ({
    id: `request=${id}`,
    label: `Open ${id} · ${formatInZone(ts, "time", zone)} · ${what}`,
    isOn: false,
    patch: {},
    requests: null,
    request: id,
  });
  const items = [
    ...requests.map(({ id, ts, model, endpoint }) => toOption(id, ts, model ?? endpoint)),
    ...(refusal === null ? [] : [toOption(refusal.id, refusal.at, `refused: ${refusal.code}`)]),
  ];
  return items.length === 0 ? [] : [{ label: "Request", items }];
}

function RequestCount({ requests }: { readonly requests: number }) {
  return (
    <span
      title={`${formatCounted(requests, "request")} in this window`}
      className="text-xs text-ink-soft tabular-nums"
    >
      {formatCountCompact(requests)}
      <span className="sr-only"> {requests === 1 ? "request" : "requests"}</span>
    </span>
  );
}

/** Takes the focus from the box that was there before, unless it has moved elsewhere meanwhile. */
function takeFocus(input: HTMLInputElement | null): void {
  if (document.activeElement !== document.body) return;
  input?.focus({ preventScroll: true });
}

/**
 * As if it were typed there, around what was typed there meanwhile: the list then offers its first match to Enter. Returns
 * what is to be marked; null when there is no such text.
 */
function typeInto(
  input: HTMLInputElement | null,
  typed: Typed | null,
): readonly [start: number, end: number] | null {
  if (input === null || typed === null || typed.text === "") return null;
  const { text, start, end } = typed;
  const meanwhile = input.value;
  const isMarked = meanwhile === "";
  input.setRangeText(text.slice(0, start), 0, 0);
  input.setRangeText(text.slice(isMarked ? start : end), input.value.length, input.value.length);
  input.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertText" }));
  return isMarked ? [start, end] : [start + meanwhile.length, start + meanwhile.length];
}
