import type { ReactNode, Ref } from "react";
import type { ChatEndpoint } from "../../api/chat.ts";
import { Card } from "../../components/card.tsx";
import { SwitchField } from "../../components/choice-field.tsx";
import { NumberField } from "../../components/number-field.tsx";
import { SelectField } from "../../components/select-field.tsx";
import { TextField } from "../../components/text-field.tsx";

export interface SettingsCardProps {
  /** The model's field. */
  readonly model: ReactNode;
  readonly canStream: boolean;
  /** By which the model can be asked. */
  readonly endpoints: readonly ChatEndpoint[];
  /** The one that is asked now. */
  readonly endpoint: ChatEndpoint;
  readonly settings: Settings;
  readonly onChange: (settings: Settings) => void;
  readonly areaRef: Ref<HTMLDivElement>;
}

/** Which model, and how it is asked. */
export function SettingsCard({
  model,
  canStream,
  endpoints,
  endpoint,
  settings,
  onChange,
  areaRef,
}: SettingsCardProps) {
  return (
    <Card>
      <div ref={areaRef} className="grid min-w-0 items-start gap-4 sm:grid-cols-2 lg:grid-cols-1">
        {model}
        {endpoints.length > 1 && (
          <SelectField
            label="Endpoint"
            options={endpoints.map((value) => ({ value, ...ENDPOINT_WORDS[value] }))}
            value={endpoint}
            onValueChange={(next) => onChange({ ...settings, endpoint: next })}
          />
        )}
        <TextField
          label="System message"
          hint="Sent before the conversation. Empty: not sent."
          multiline
          rows={3}
          value={settings.system}
          onValueChange={(system) => onChange({ ...settings, system })}
        />
        <div className="grid grid-cols-2 gap-3">
          <NumberField
            label="Temperature"
            placeholder="not sent"
            min={0}
            max={2}
            value={settings.temperature}
            onValueChange={(temperature) => onChange({ ...settings, temperature })}
          />
          <NumberField
            label="Max tokens"
            placeholder="not sent"
            integer
            min={1}
            value={settings.maxTokens}
            onValueChange={(maxTokens) => onChange({ ...settings, maxTokens })}
          />
        </div>
        <SwitchField
          label="Stream the answer"
          hint={canStream ? undefined : "This model does not support streaming."}
          disabled={!canStream}
          checked={settings.stream && canStream}
          onCheckedChange={(stream) => onChange({ ...settings, stream })}
        />
      </div>
    </Card>
  );
}

const ENDPOINT_WORDS = {
  chat: { label: "Chat completions", detail: "/v1/chat/completions" },
  responses: { label: "Responses", detail: "/v1/responses" },
} as const satisfies Record<ChatEndpoint, object>;

/** How a model is asked, beside the question. */
export interface Settings {
  /** Taken where the model has it. */
  readonly endpoint: ChatEndpoint;
  readonly system: string;
  /** Null leaves it to the provider. */
  readonly temperature: number | null;
  readonly maxTokens: number | null;
  readonly stream: boolean;
}

export const SETTINGS_DEFAULT: Settings = {
  endpoint: "chat",
  system: "",
  temperature: null,
  maxTokens: null,
  stream: true,
};

/** The fields of the body; what is not set is not sent. */
export function toSentSettings({ temperature, maxTokens }: Settings): { readonly [name: string]: number } {
  return {
    ...(temperature !== null && { temperature }),
    ...(maxTokens !== null && { max_tokens: maxTokens }),
  };
}
