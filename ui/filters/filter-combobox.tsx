import { Combobox } from "@base-ui/react/combobox";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { facetsQuery } from "../api/reports.ts";
import type { Report } from "../search/report.ts";
import { FILTER_INPUT } from "./filter-input.ts";
import { toFilterGroups, type FilterGroup, type FilterOption } from "./filter-options.ts";

/** More would not be read, and would be slow to draw. */
const OPTIONS_SHOWN_MAX = 60;

export interface FilterComboboxProps {
  readonly report: Report;
  /** What was typed into the box in whose place it comes. */
  readonly begun: string;
}

/** The box with its list, which is open when it comes: it goes on from a box that was just used, and has its focus. */
export function FilterCombobox({ report, begun }: FilterComboboxProps) {
  const [typed, setTyped] = useState("");
  const input = useRef<HTMLInputElement>(null);
  const untyped = useRef(begun);
  useLayoutEffect(() => {
    takeFocus(input.current);
    typeInto(input.current, untyped.current);
    untyped.current = "";
  }, []);
  const facets = useQuery({
    ...facetsQuery({ since: report.query.since, until: report.query.until }),
    placeholderData: keepPreviousData,
  });
  // Nothing is guessed before it is known what there is: Enter takes what stands first.
  const guessed = facets.isPending ? "" : typed;
  const groups = useMemo(
    () => toFilterGroups(facets.data, report.filters, guessed),
    [facets.data, report.filters, guessed],
  );

  return (
    <Combobox.Root<FilterOption>
      defaultOpen
      items={groups}
      value={null}
      onValueChange={(option) => {
        if (option === null) return;
        report.change(option.patch);
        setTyped("");
      }}
      inputValue={typed}
      onInputValueChange={setTyped}
      itemToStringLabel={(option) => option.label}
      isItemEqualToValue={(option, value) => option.id === value.id}
      limit={OPTIONS_SHOWN_MAX}
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
                {facets.isPending ? "Looking for what there is…" : "Nothing in this window matches."}
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
                        title={option.label}
                        className="mx-1 block cursor-default truncate rounded-control px-2 py-1.5 select-none data-highlighted:bg-accent-soft"
                      >
                        {option.label}
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

/** From the box that was there before, unless somebody has gone on to something else meanwhile. */
function takeFocus(input: HTMLInputElement | null): void {
  if (document.activeElement !== document.body) return;
  input?.focus({ preventScroll: true });
}

/** As if it were typed there, before what was typed there meanwhile: the list then offers its first match to Enter. */
function typeInto(input: HTMLInputElement | null, text: string): void {
  if (input === null || text === "") return;
  input.setRangeText(text, 0, 0);
  input.setSelectionRange(input.value.length, input.value.length);
  input.dispatchEvent(new InputEvent("input", { bubbles: true, inputType: "insertText" }));
}
