import { AUDIT_ACTIONS } from "#audit/event.ts";
import { SelectField } from "../../../components/select-field.tsx";
import { TextField } from "../../../components/text-field.tsx";
import type { AuditSearch } from "../../../search/pages.ts";

export interface AuditFiltersProps {
  readonly search: AuditSearch;
  readonly actors: readonly string[];
  readonly onChange: (patch: AuditSearch) => void;
}

const ANY = "any";

/** By action, by actor, by part of the target's name. */
export function AuditFilters({ search, actors, onChange }: AuditFiltersProps) {
  const known =
    search.actor === undefined || actors.includes(search.actor) ? actors : [search.actor, ...actors];
  return (
    <div role="search" aria-label="Filters" className="mb-4 grid gap-2 sm:grid-cols-3 lg:max-w-3xl">
      <SelectField
        label="Action"
        value={search.action ?? ANY}
        options={[
          { value: ANY, label: "Any action" },
          ...AUDIT_ACTIONS.map((action) => ({ value: action, label: action })),
        ]}
        onValueChange={(action: string) => onChange({ action: action === ANY ? undefined : action })}
      />
      <SelectField
        label="Actor"
        value={search.actor ?? ANY}
        options={[
          { value: ANY, label: "Any actor" },
          ...known.map((actor) => ({ value: actor, label: actor })),
        ]}
        onValueChange={(actor: string) => onChange({ actor: actor === ANY ? undefined : actor })}
      />
      <TextField
        label="Target contains"
        type="search"
        icon="search"
        placeholder="Name or id"
        isPageFilter
        value={search.target ?? ""}
        onValueChange={(target) => onChange({ target: target === "" ? undefined : target })}
      />
    </div>
  );
}
