import { CAPABILITIES } from "#catalog/capability.ts";
import type { Provider } from "../../api/catalog.ts";
import { CAPABILITIES_SHOWN, toCapabilityLabel } from "../../components/capability.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";
import type { ModelsSearch } from "../../search/pages.ts";
import { formatCount } from "../../text/format.ts";

export interface ModelFiltersProps {
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
export function ModelFilters({ search, onChange, providers, shown, total }: ModelFiltersProps) {
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
