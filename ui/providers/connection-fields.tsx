import { Button } from "../components/button.tsx";
import { CheckboxField } from "../components/choice-field.tsx";
import { toFieldError } from "../components/field-frame.tsx";
import { Icon } from "../components/icon.tsx";
import { SecretField } from "../components/secret-field.tsx";
import { TextField } from "../components/text-field.tsx";
import { AdvancedFields } from "./advanced-fields.tsx";
import { findBaseUrlWarning } from "./base-url.ts";
import type { Preset } from "./presets.ts";
import type { ProviderFieldsProps } from "./provider-form.ts";

export interface ConnectionFieldsProps extends ProviderFieldsProps {
  readonly preset?: Preset | undefined;
}

/** Where a provider is and how it is called: every field but its name. */
export function ConnectionFields({ form, onChange, before, preset, failure }: ConnectionFieldsProps) {
  return (
    <>
      <div className="flex flex-col gap-2">
        <TextField
          label="Base URL"
          type="url"
          mono
          required
          placeholder="https://llm.example.com/v1"
          value={form.baseUrl}
          error={toFieldError(failure, "base_url")}
          onValueChange={(baseUrl) => onChange({ baseUrl })}
        />
        <BaseUrlWarning baseUrl={form.baseUrl} onChange={(baseUrl) => onChange({ baseUrl })} />
      </div>
      <div className="flex flex-col gap-2">
        <SecretField
          label="API key"
          required={before === null && preset?.key === "needed"}
          disabled={form.removesKey}
          placeholder={before?.has_credential === true ? "A key is stored. Enter another to replace it." : ""}
          hint={
            preset?.hint ?? "Sent to the provider as a bearer token. Stored encrypted and never shown again."
          }
          value={form.apiKey}
          error={toFieldError(failure, "api_key")}
          onValueChange={(apiKey) => onChange({ apiKey })}
        />
        {before?.has_credential === true && (
          <CheckboxField
            label="Remove the stored key"
            checked={form.removesKey}
            error={toFieldError(failure, "remove_credential")}
            onCheckedChange={(removesKey) => onChange({ removesKey, apiKey: "" })}
          />
        )}
      </div>
      <AdvancedFields form={form} onChange={onChange} before={before} failure={failure} />
    </>
  );
}

interface BaseUrlWarningProps {
  readonly baseUrl: string;
  readonly onChange: (baseUrl: string) => void;
}

function BaseUrlWarning({ baseUrl, onChange }: BaseUrlWarningProps) {
  const warning = findBaseUrlWarning(baseUrl);
  return (
    <div role="status" className="empty:hidden">
      {warning !== null && (
        <div className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-control bg-warn-soft px-3 py-2 text-xs">
          <span className="flex min-w-0 items-start gap-1.5">
            <Icon name="warning" size={14} className="mt-px text-warn" />
            {warning.text}
          </span>
          <Button size="sm" onClick={() => onChange(warning.suggestion)}>
            {warning.action}
          </Button>
        </div>
      )}
    </div>
  );
}
