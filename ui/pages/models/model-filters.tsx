import { CAPABILITIES } from "#catalog/capability.ts";
import { CAPABILITY_LABEL } from "../../components/capability.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import { Segmented } from "../../components/segmented.tsx";
import { TextField } from "../../components/text-field.tsx";
import type { ModelsSearch } from "../../search/pages.ts";

export interface ModelFiltersProps {
  readonly search: ModelsSearch;
  readonly onChange: (patch: ModelsSearch) => void;
}

const ANY = "any";
const OPTIONS = [
  { value: ANY, label: "Any" },
  ...CAPABILITIES.map((capability) => ({ value: capability, label: CAPABILITY_LABEL[capability] })),
];

/** By text and by capability; hidden models on request. */
export function ModelFilters({ search, onChange }: ModelFiltersProps) {
  return (
    <div role="search" aria-label="Filters" className="mb-4 flex flex-wrap items-center gap-3">
      <TextField
        label="Find a model"
        labelHidden
        type="search"
        icon="search"
        placeholder="Name, target or provider"
        className="w-full sm:w-64"
        isPageFilter
        value={search.q ?? ""}
        onValueChange={(q) => onChange({ q: q === "" ? undefined : q })}
      />
      <Segmented
        label="Capability"
        options={OPTIONS}
        value={search.capability ?? ANY}
        onValueChange={(capability) =>
          onChange({ capability: CAPABILITIES.find((known) => known === capability) })
        }
      />
      <SwitchField
        label="Show hidden ones"
        checked={search.hidden === "1"}
        onCheckedChange={(shown) => onChange({ hidden: shown ? "1" : undefined })}
      />
    </div>
  );
}
