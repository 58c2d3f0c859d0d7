import { CAPABILITIES, type Capability } from "#catalog/capability.ts";
import { CAPABILITY_LABEL } from "../components/capability.tsx";
import { CheckboxField } from "../components/choice-field.tsx";

export interface CapabilityPickerProps {
  readonly capabilities: readonly Capability[];
  readonly onChange: (capabilities: readonly Capability[]) => void;
  readonly error?: string | undefined;
}

const HINT = {
  chat: undefined,
  chat_stream: undefined,
  completions: undefined,
  embeddings: undefined,
  transcription: undefined,
  vision: "Shown to callers, not checked",
  responses: undefined,
  messages: undefined,
  speech: undefined,
  images: undefined,
  moderation: undefined,
  rerank: undefined,
} as const satisfies Record<Capability, string | undefined>;

/** What a model is declared to do: boxes to tick. */
export function CapabilityPicker({ capabilities, onChange, error }: CapabilityPickerProps) {
  return (
    <fieldset className="min-w-0">
      <legend className="mb-1.5 text-xs font-medium text-ink">Capabilities</legend>
      <div className="grid gap-x-4 gap-y-1.5 sm:grid-cols-2">
        {CAPABILITIES.map((capability) => (
          <CheckboxField
            key={capability}
            label={CAPABILITY_LABEL[capability]}
            hint={HINT[capability]}
            checked={capabilities.includes(capability)}
            onCheckedChange={(checked) =>
              onChange(
                CAPABILITIES.filter((other) =>
                  other === capability ? checked : capabilities.includes(other),
                ),
              )
            }
          />
        ))}
      </div>
      {error !== undefined && <p className="mt-1.5 text-xs text-bad">{error}</p>}
    </fieldset>
  );
}
