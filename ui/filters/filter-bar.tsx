import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { facetsQuery } from "../api/reports.ts";
import { Button } from "../components/button.tsx";
import { Chip } from "../components/chip.tsx";
import { countFilters, NO_FILTERS, removeTag, TEXT_FILTERS, type TextFilter } from "../search/filters.ts";
import type { Report } from "../search/report.ts";
import { FilterBox } from "./filter-box.tsx";
import { toKeyName, toOutcomeText } from "./filter-options.ts";
import { WindowPicker } from "./window-picker.tsx";

export interface FilterBarProps {
  readonly report: Report;
  /** Buttons of the page, at the end of the bar. */
  readonly actions?: ReactNode;
}

/** The one place where a page of reports is narrowed; what it says stands in the address, and nowhere else. */
export function FilterBar({ report, actions }: FilterBarProps) {
  return (
    <div className="mb-4 flex flex-col gap-2" role="search" aria-label="Filters">
      <div className="flex flex-wrap items-center gap-2">
        <WindowPicker report={report} />
        <FilterBox report={report} />
        {actions !== undefined && <div className="ml-auto flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {countFilters(report.filters) > 0 && <ActiveFilters report={report} />}
    </div>
  );
}

const FILTER_LABELS: { readonly [name in TextFilter]: string } = {
  principal: "person",
  key: "key",
  provider: "provider",
  model: "model",
  client: "client begins with",
};

function ActiveFilters({ report }: { readonly report: Report }) {
  const { filters, change } = report;
  const { data: facets } = useQuery({
    ...facetsQuery({ since: report.query.since, until: report.query.until }),
    enabled: filters.key !== undefined,
  });
  const keyName = (id: string) => {
    const key = facets?.keys.find((known) => known.id === id);
    return key === undefined ? id : toKeyName(key);
  };
  return (
    <ul aria-label="Active filters" className="flex flex-wrap items-center gap-1.5">
      {TEXT_FILTERS.map((name) => {
        const value = filters[name];
        if (value === undefined) return null;
        const text = `${FILTER_LABELS[name]}: ${name === "key" ? keyName(value) : value}`;
        return <FilterChip key={name} text={text} onRemove={() => change({ [name]: undefined })} />;
      })}
      {filters.tag?.map((tag) => (
        <FilterChip
          key={tag}
          text={`tag: ${tag}`}
          onRemove={() => change({ tag: removeTag(filters, tag) })}
        />
      ))}
      {filters.outcome !== undefined && (
        <FilterChip
          text={`outcome: ${toOutcomeText(filters.outcome)}`}
          onRemove={() => change({ outcome: undefined })}
        />
      )}
      <li>
        <Button variant="ghost" size="sm" onClick={() => change(NO_FILTERS)}>
          Clear filters
        </Button>
      </li>
    </ul>
  );
}

function FilterChip({ text, onRemove }: { readonly text: string; readonly onRemove: () => void }) {
  return (
    <li className="max-w-full min-w-0">
      <Chip tone="accent" title={text} onRemove={onRemove} removeLabel={`Remove the filter ${text}`}>
        {text}
      </Chip>
    </li>
  );
}
