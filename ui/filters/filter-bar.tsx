import { useQuery } from "@tanstack/react-query";
import { type ReactNode, Suspense, useState } from "react";
import { type Facets, facetsQuery } from "../api/reports.ts";
import { Button } from "../components/button.tsx";
import { Card } from "../components/card.tsx";
import { Chip } from "../components/chip.tsx";
import { TableSkeleton } from "../components/skeleton.tsx";
import { lazyPart } from "../lazy-part.tsx";
import {
  type ActiveFilter,
  countFilters,
  findCompared,
  isBoundFilter,
  NO_FILTERS,
  toActiveFilters,
  toBoundText,
  toSpec,
  toValueText,
} from "../search/filters.ts";
import type { Report } from "../search/report.ts";
import { FilterBox } from "./filter-box.tsx";
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
    <div className="mb-3 flex flex-col gap-2" role="search" aria-label="Filters">
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
  const compared = findCompared(filters);
  const [isComparing, setComparing] = useState(props.isComparing);
  return (
    <>
      <ul aria-label="Active filters" className="flex flex-wrap items-center gap-1.5">
        {toActiveFilters(filters).map((filter) => (
          <FilterChip
            key={`${filter.name} ${filter.value}`}
            filter={filter}
            facets={facets}
            onRemove={() => change(filter.without)}
          />
        ))}
        <li>
          <Button variant="ghost" size="sm" onClick={() => change(NO_FILTERS)}>
            Clear filters
          </Button>
        </li>
        {compared !== null && (
          <li>
            <Button size="sm" aria-expanded={isComparing} onClick={() => setComparing(!isComparing)}>
              {toSpec(compared).compare}
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
              toName={(value) => toValueText(compared, value, facets)}
            />
          </Suspense>
        </Card>
      )}
    </>
  );
}

interface FilterChipProps {
  readonly filter: ActiveFilter;
  readonly facets: Facets | undefined;
  readonly onRemove: () => void;
}

/** A further value leaves out what the chip before it says already. */
function FilterChip({ filter: { name, value, place }, facets, onRemove }: FilterChipProps) {
  const isList = name !== "unpriced" && !isBoundFilter(name);
  const own = isList
    ? toValueText(name, value, facets)
    : isBoundFilter(name)
      ? toBoundText(name, value)
      : name;
  const text = isList ? `${toSpec(name).label}: ${own}` : own;
  return (
    <li className="flex max-w-full min-w-0 items-center gap-1.5">
      {place > 0 && <span className="text-xs text-ink-soft">{name === "tag" ? "and" : "or"}</span>}
      <Chip tone="accent" title={text} onRemove={onRemove} removeLabel={`Remove the filter ${text}`}>
        {place > 0 ? own : text}
      </Chip>
    </li>
  );
}
