import type { Provider } from "../../../api/catalog.ts";
import { SelectField } from "../../../components/select-field.tsx";
import { TextField } from "../../../components/text-field.tsx";
import type { CatalogueSearch } from "../../../search/pages.ts";
import { formatCount } from "../../../text/format.ts";

export interface CatalogueFiltersProps {
  readonly search: CatalogueSearch;
  readonly onChange: (patch: CatalogueSearch) => void;
  readonly providers: readonly Provider[];
  readonly shown: number;
  /** All models on the server; null before that is known. */
  readonly total: number | null;
}

const ANY = "*";

/** By any of a model's names, and by its provider. */
export function CatalogueFilters({ search, onChange, providers, shown, total }: CatalogueFiltersProps) {
  return (
    <div role="search" aria-label="Filters" className="mb-4 flex flex-wrap items-end gap-3">
      <TextField
        label="Find a model"
        labelHidden
        type="search"
        icon="search"
        placeholder="Find by alias, target or upstream name"
        isPageFilter
        className="min-w-56 flex-1 sm:max-w-sm"
        value={search.q ?? ""}
        onValueChange={(q) => onChange({ q: q === "" ? undefined : q })}
      />
      <SelectField
        label="Provider"
        labelHidden
        className="w-48"
        options={[
          { value: ANY, label: "All providers" },
          ...providers.map(({ name, enabled }) => ({
            value: name,
            label: name,
            detail: enabled ? undefined : "disabled",
          })),
        ]}
        value={search.provider ?? ANY}
        onValueChange={(provider: string) => onChange({ provider: provider === ANY ? undefined : provider })}
      />
      <p role="status" className="ml-auto min-h-4 w-44 self-center text-right text-xs text-ink-soft">
        {total !== null && toCountWords(shown, total)}
      </p>
    </div>
  );
}

function toCountWords(shown: number, total: number): string {
  if (shown !== total) return `${formatCount(shown)} of ${formatCount(total)} models`;
  return total === 1 ? "1 model" : `${formatCount(total)} models`;
}
