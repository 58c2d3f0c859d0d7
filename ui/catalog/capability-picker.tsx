import { CAPABILITIES, type Capability } from "#catalog/capability.ts";
import {
  CAPABILITIES_SHOWN,
  CAPABILITY_GROUPS,
  CAPABILITY_WORDS,
  toCapabilityLabel,
} from "../components/capability.tsx";
import { CheckboxField } from "../components/choice-field.tsx";

export interface CapabilityPickerProps {
  readonly capabilities: readonly Capability[];
  readonly onChange: (capabilities: readonly Capability[]) => void;
  readonly error?: string | undefined;
}

/** What a model is declared to do: boxes to tick, each with the path that it opens. */
export function CapabilityPicker({ capabilities, onChange, error }: CapabilityPickerProps) {
  const change = (capability: Capability, isTicked: boolean) =>
    onChange(
      CAPABILITIES.filter((other) => (other === capability ? isTicked : capabilities.includes(other))),
    );
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1.5 text-xs font-medium text-ink">Capabilities</legend>
      <div className="flex flex-col gap-3">
        {CAPABILITY_GROUPS.map((group) => (
          <div key={group} role="group" aria-label={group}>
            <p aria-hidden="true" className="mb-1 text-xs text-ink-faint">
              {group}
            </p>
            <div className="grid grid-cols-[repeat(auto-fill,minmax(min(13rem,100%),1fr))] gap-x-4 gap-y-1.5">
              {CAPABILITIES_SHOWN.filter((capability) => CAPABILITY_WORDS[capability].group === group).map(
                (capability) => (
                  <CheckboxField
                    key={capability}
                    label={toCapabilityLabel(capability)}
                    hint={CAPABILITY_WORDS[capability].hint}
                    checked={capabilities.includes(capability)}
                    onCheckedChange={(isTicked) => change(capability, isTicked)}
                  />
                ),
              )}
            </div>
          </div>
        ))}
      </div>
      {error !== undefined && <p className="mt-1.5 text-xs text-bad">{error}</p>}
    </fieldset>
  );
}
