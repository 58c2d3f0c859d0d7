import type { AuthStyle } from "#catalog/provider-fields.ts";
import { Button } from "../components/button.tsx";
import { CheckboxField } from "../components/choice-field.tsx";
import { Icon } from "../components/icon.tsx";
import { SecretField, TextField } from "../components/text-field.tsx";
import { AdvancedFields } from "./advanced-fields.tsx";
import { findBaseUrlWarning } from "./discovery.ts";
import type { Preset } from "./presets.ts";
import type { ProviderFieldsProps } from "./provider-form.ts";

export interface ConnectionFieldsProps extends ProviderFieldsProps {
  readonly preset?: Preset | undefined;
}

/** Where a provider is and how it is called: every field but its name. */
export function ConnectionFields({ form, before, preset }: ConnectionFieldsProps) {
  const { values, set } = form;
  return (
    <>
      <div className="flex flex-col gap-2">
        <TextField
          label="Base URL"
          type="url"
          mono
          placeholder="https://llm.example.com/v1"
          {...form.field("baseUrl", "base_url")}
          required
        />
        <BaseUrlWarning baseUrl={values.baseUrl} onChange={(baseUrl) => set({ baseUrl })} />
      </div>
      <div className="flex flex-col gap-2">
        <SecretField
          label="API key"
          placeholder={before?.has_credential === true ? "A key is stored. Enter another to replace it." : ""}
          hint={
            preset?.hint ??
            `Sent to the provider as ${SENT_AS[values.authStyle]}. Stored encrypted and never shown again.`
          }
          {...form.field("apiKey", "api_key")}
          required={before === null && preset?.key === "needed"}
          disabled={values.removesKey}
        />
        {before?.has_credential === true && (
          <CheckboxField
            label="Remove the stored key"
            checked={values.removesKey}
            error={form.findError("removesKey", "remove_credential")}
            onCheckedChange={(removesKey) => set({ removesKey, apiKey: "" })}
          />
        )}
      </div>
      <AdvancedFields form={form} before={before} />
    </>
  );
}

const SENT_AS = { bearer: "a bearer token", "x-api-key": "x-api-key" } as const satisfies Record<
  AuthStyle,
  string
>;

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
