import { useQuery } from "@tanstack/react-query";
import { type ReactNode, Suspense, useState } from "react";
import { facetsQuery } from "../api/reports.ts";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Chip } from "../components/chip.tsx";
import { TableSkeleton } from "../components/skeleton.tsx";
import { lazyPart } from "../lazy-part.tsx";
import { FILTER_LABELS, toBoundText, toOutcomeText } from "../search/filter-words.ts";
import {
  BOUND_FILTERS,
  countFilters,
  LIST_FILTERS,
  NO_FILTERS,
  OUTCOME_FILTERS,
  toggleValue,
} from "../search/filters.ts";
import type { Report } from "../search/report.ts";
import { COMPARE_LABELS, findCompared } from "./compared-filter.ts";
import { FilterBox } from "./filter-box.tsx";
import { toKeyName } from "./filter-options.ts";
import { WindowPicker } from "./window-picker.tsx";

const Comparison = lazyPart(async () => (await import("./comparison.tsx")).Comparison);

export interface FilterBarProps {
  readonly report: Report;
  /** Buttons of the page, at the end of the bar. */
  readonly actions?: ReactNode;
  /** Several values of one filter stand side by side without being asked to. */
  readonly isComparing?: boolean;
}

/** The one place where a page of reports is narrowed; what it says stands in the address, and nowhere else. */
export function FilterBar({ report, actions, isComparing = false }: FilterBarProps) {
  return (
    <div className="mb-4 flex flex-col gap-2" role="search" aria-label="Filters">
      <div className="flex flex-wrap items-center gap-2">
        <WindowPicker report={report} />
        <FilterBox report={report} />
        {actions !== undefined && <div className="ml-auto flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {countFilters(report.filters) > 0 && <ActiveFilters report={report} isComparing={isComparing} />}
    </div>
  );
}

/** A chip for each value; those of one filter stand together, with "or" between them, or "and" between tags. */
function ActiveFilters(props: Pick<FilterBarProps, "report"> & { readonly isComparing: boolean }) {
  const { report } = props;
  const { filters, change } = report;
  const { data: facets } = useQuery({
    ...facetsQuery({ since: report.query.since, until: report.query.until }),
    enabled: filters.key !== undefined,
  });
  const toValueText = (name: string, value: string): string => {
    const outcome = name === "outcome" && OUTCOME_FILTERS.find((known) => known === value);
    if (outcome !== false && outcome !== undefined) return toOutcomeText(outcome);
    const key = name === "key" ? facets?.keys.find(({ id }) => id === value) : undefined;
    return key === undefined ? value : toKeyName(key);
  };
  const compared = findCompared(filters);
  const [isComparing, setComparing] = useState(props.isComparing);
  return (
    <>
      <ul aria-label="Active filters" className="flex flex-wrap items-center gap-1.5">
        {LIST_FILTERS.flatMap((name) =>
          (filters[name] ?? []).map((value, place) => (
            <FilterChip
              key={`${name} ${value}`}
              word={place === 0 ? null : name === "tag" ? "and" : "or"}
              text={`${FILTER_LABELS[name]}: ${toValueText(name, value)}`}
              {...(place > 0 && { shown: toValueText(name, value) })}
              onRemove={() => change(toggleValue(filters, name, value))}
            />
          )),
        )}
        {filters.unpriced !== undefined && (
          <FilterChip text="unpriced" onRemove={() => change({ unpriced: undefined })} />
        )}
        {BOUND_FILTERS.map((name) => {
          const value = filters[name];
          if (value === undefined) return null;
          return (
            <FilterChip
              key={name}
              text={toBoundText(name, value)}
              onRemove={() => change({ [name]: undefined })}
            />
          );
        })}
        <li>
          <Button variant="ghost" size="sm" onClick={() => change(NO_FILTERS)}>
            Clear filters
          </Button>
        </li>
        {compared !== null && (
          <li>
            <Button size="sm" aria-expanded={isComparing} onClick={() => setComparing(!isComparing)}>
              {COMPARE_LABELS[compared]}
            </Button>
          </li>
        )}
      </ul>
      {compared !== null && isComparing && (
        <Card>
          <Suspense fallback={<TableSkeleton rows={6} />}>
            <Comparison
              report={report}
              by={compared}
              values={filters[compared] ?? []}
              toName={(value) => toValueText(compared, value)}
            />
          </Suspense>
        </Card>
      )}
    </>
  );
}

interface FilterChipProps {
  /** Stands before the chip of a further value. */
  readonly word?: "or" | "and" | null;
  readonly text: string;
  /** The text without what the chip before it says already. */
  readonly shown?: string;
  readonly onRemove: () => void;
}

function FilterChip({ word = null, text, shown = text, onRemove }: FilterChipProps) {
  return (
    <li className="flex max-w-full min-w-0 items-center gap-1.5">
      {word !== null && <span className="text-xs text-ink-soft">{word}</span>}
      <Chip tone="accent" title={text} onRemove={onRemove} removeLabel={`Remove the filter ${text}`}>
        {shown}
      </Chip>
    </li>
  );
}
