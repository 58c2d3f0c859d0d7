import { useId, useState } from "react";
import { Icon } from "../components/icon.tsx";
import { isVerticalArrow, PartFailure } from "../components/on-demand.tsx";
import { Spinner } from "../components/progress.tsx";
import { useOnDemand } from "../on-demand.ts";
import type { Report } from "../search/report.ts";
import { FILTER_INPUT, type Typed } from "./filter-input.ts";

const loadCombobox = async () => (await import("./filter-combobox.tsx")).FilterCombobox;

/** One box to find anything to filter by: what is typed is looked for in every facet. `/` goes there. */
export function FilterBox({ report }: { readonly report: Report }) {
  const [typed, setTyped] = useState<Typed>({ text: "", start: 0, end: 0 });
  const listId = useId();
  const { Part, isWaiting, failure, approach, want, dismiss } = useOnDemand(loadCombobox);
  return (
    <div className="relative w-full min-w-0 sm:w-64">
      <span className="pointer-events-none absolute inset-y-0 left-2.5 flex items-center text-ink-faint">
        {isWaiting ? <Spinner /> : <Icon name="filter" />}
      </span>
      {Part === null ? (
        <input
          {...FILTER_INPUT}
          role="combobox"
          aria-haspopup="listbox"
          aria-autocomplete="list"
          aria-expanded={false}
          aria-controls={listId}
          aria-busy={isWaiting || undefined}
          autoComplete="off"
          spellCheck={false}
          value={typed.text}
          onPointerEnter={approach}
          onFocus={approach}
          onClick={want}
          onSelect={({ currentTarget }) => setTyped(toTyped(currentTarget))}
          onChange={({ currentTarget }) => {
            setTyped(toTyped(currentTarget));
            want();
          }}
          onKeyDown={({ key }) => isVerticalArrow(key) && want()}
        />
      ) : (
        <Part report={report} begun={typed} />
      )}
      <kbd
        aria-hidden="true"
        className="pointer-events-none absolute inset-y-0 right-2 my-auto flex h-5 items-center rounded border border-line px-1.5 text-xs text-ink-faint"
      >
        /
      </kbd>
      <PartFailure {...{ failure, want, dismiss }} />
    </div>
  );
}

function toTyped({ value, selectionStart, selectionEnd }: HTMLInputElement): Typed {
  return { text: value, start: selectionStart ?? value.length, end: selectionEnd ?? value.length };
}
