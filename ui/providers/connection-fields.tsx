import { type Endpoint, isEndpoint, toRow } from "#catalog/endpoint.ts";
import { type AuthStyle, FORMER_CREDENTIAL_US, PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import type { Field } from "#kernel/fields.ts";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { type ProviderDetails, restoreCredential } from "../api/catalog.ts";
import { Button } from "../components/button.tsx";
import { CAPABILITIES_SHOWN, toCapabilityLabel } from "../components/capability.tsx";
import { CheckboxField, SwitchField } from "../components/choice-field.tsx";
import { ErrorNotice } from "../components/error-notice.tsx";
import { toFieldError } from "../components/field-frame.tsx";
import { FileDrop } from "../components/file-drop.tsx";
import { Instant } from "../components/instant.tsx";
import { Icon } from "../components/icon.tsx";
import { NumberField } from "../components/number-field.tsx";
import { SelectField } from "../components/select-field.tsx";
import { SecretField, TextField } from "../components/text-field.tsx";
import { useToast } from "../components/toast.tsx";
import { listKeys } from "../form/fields.ts";
import type { FieldBinding } from "../form/use-form.ts";
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
        {before?.former_credential_until !== undefined && !form.isChanged && (
          <FormerKey provider={before} until={before.former_credential_until} />
        )}
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

/** The key before this one, and the press that takes it back. */
function FormerKey({ provider, until }: { readonly provider: ProviderDetails; readonly until: string }) {
  const { notify } = useToast();
  const { mutate, isPending, error } = useMutation({
    ...restoreCredential,
    onSuccess: ({ name }) =>
      notify({
        title: `${name} has its former key again`,
        body: "Applies from the next request. The key that it replaced is kept for a day.",
        tone: "good",
      }),
  });
  const usedUntil = new Date(Date.parse(until) - FORMER_CREDENTIAL_US / 1000).toISOString();
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-2 text-xs text-ink-soft">
      <span>
        Former key, in use until <Instant value={usedUntil} format="minute" />: kept for a day.
      </span>
      <Button size="sm" busy={isPending} onClick={() => mutate(provider)}>
        Take it back
      </Button>
      {error !== null && <ErrorNotice failure={error} compact />}
    </div>
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

const PARAMS = [...Object.values(PROVIDER_SETTINGS).map(({ wire }) => wire), "endpoints"];

/** What most providers need no change of; open when one of its fields was refused. */
function AdvancedFields(props: ProviderFieldsProps) {
  const { form, before } = props;
  const { failure } = form;
  const [isOpen, setOpen] = useState(false);
  const isRefused = PARAMS.some((param) => toFieldError(failure, param) !== undefined);
  return (
    <details
      open={isOpen || isRefused}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className="rounded-control border border-line"
    >
      <summary className="px-3 py-2 text-xs font-medium">
        Key header, TLS, timeouts, limits and endpoints
      </summary>
      <div className="flex flex-col gap-4 border-t border-line px-3 py-3">
        {listKeys(PROVIDER_SETTINGS, ["choice"]).map((key) => {
          const { label, options, wire } = PROVIDER_SETTINGS[key];
          return <SelectField key={key} label={label} options={options} {...form.field(key, wire)} />;
        })}
        {listKeys(PROVIDER_SETTINGS, ["switch"]).map((key) => {
          const { label, hint, wire } = PROVIDER_SETTINGS[key];
          const { value, onValueChange } = form.field(key, wire);
          return (
            <SwitchField
              key={key}
              label={label}
              hint={value ? undefined : hint}
              checked={value}
              onCheckedChange={onValueChange}
            />
          );
        })}
        <CaField {...props} />
        <div className="grid gap-4 sm:grid-cols-3">
          {listKeys(PROVIDER_SETTINGS, ["number", "count"]).map((key) => (
            <AmountField
              key={key}
              field={PROVIDER_SETTINGS[key]}
              {...form.field(key, PROVIDER_SETTINGS[key].wire)}
            />
          ))}
        </div>
        <EndpointFields form={form} />
        {before !== null && <p className="text-xs text-ink-faint">Changes apply immediately.</p>}
      </div>
    </details>
  );
}

function AmountField({ field, ...binding }: FieldBinding<number | null> & { readonly field: NumberOrCount }) {
  const { label, hint } = field;
  return field.kind === "count" ? (
    <NumberField label={label} hint={hint} integer placeholder="unlimited" {...binding} />
  ) : (
    <NumberField
      label={label}
      hint={hint}
      suffix={field.unit}
      min={field.exclusiveMinimum}
      max={field.maximum}
      placeholder={String(field.initial)}
      {...binding}
    />
  );
}

type NumberOrCount = Extract<Field, { readonly kind: "number" | "count" }>;

/** URLs of their own: those that are set, and a way to add one. */
function EndpointFields({ form }: Pick<ProviderFieldsProps, "form">) {
  const { values, set, failure } = form;
  const [added, setAdded] = useState<readonly Endpoint[]>([]);
  const isShown = (endpoint: Endpoint) => values.endpoints[endpoint] !== "" || added.includes(endpoint);
  const add = (endpoint: Endpoint) => setAdded((before) => [...before, endpoint]);
  const endpoints = CAPABILITIES_SHOWN.filter(isEndpoint);
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="mb-2 text-xs font-medium">
        Endpoint URLs{" "}
        <span className="font-normal text-ink-faint">Only for endpoints that are not below the base URL</span>
      </legend>
      {endpoints.filter(isShown).map((endpoint) => (
        <TextField
          key={endpoint}
          label={toCapabilityLabel(endpoint)}
          type="url"
          mono
          placeholder={`Base URL and ${toRow(endpoint).path}`}
          value={values.endpoints[endpoint]}
          error={toFieldError(failure, `endpoints.${endpoint}`)}
          onValueChange={(url) => {
            // One that is cleared stays in sight while it is written anew.
            if (!added.includes(endpoint)) add(endpoint);
            set({ endpoints: { ...values.endpoints, [endpoint]: url } });
          }}
        />
      ))}
      <SelectField
        label="Add an endpoint URL"
        labelHidden
        placeholder="Add an endpoint URL"
        className="w-64 max-w-full"
        options={endpoints
          .filter((endpoint) => !isShown(endpoint))
          .map((endpoint) => ({
            value: endpoint,
            label: toCapabilityLabel(endpoint),
            detail: toRow(endpoint).path,
          }))}
        value={null}
        onValueChange={add}
      />
    </fieldset>
  );
}

function CaField({ form, before }: ProviderFieldsProps) {
  const { values, set } = form;
  const isStored = before?.has_custom_ca === true && values.caPem === null;
  return (
    <div className="flex flex-col gap-2">
      <FileDrop
        label={PROVIDER_SETTINGS.caPem.label}
        accept=".pem,.crt,.cer,application/x-pem-file"
        sizeBytesMax={PROVIDER_SETTINGS.caPem.maxLength}
        hint={toCaHint(values.caPem, isStored)}
        error={form.findError("caPem", "ca_pem")}
        onText={(caPem) => set({ caPem })}
      />
      {(isStored || (values.caPem !== null && values.caPem !== "")) && (
        <Button size="sm" className="self-start" onClick={() => set({ caPem: isStored ? "" : null })}>
          {isStored ? "Remove the stored certificates" : "Discard the file"}
        </Button>
      )}
      {before?.has_custom_ca === true && values.caPem === "" && (
        <Button size="sm" className="self-start" onClick={() => set({ caPem: null })}>
          Keep the stored certificates
        </Button>
      )}
    </div>
  );
}

function toCaHint(caPem: string | null, isStored: boolean): string {
  if (isStored) return "Stored certificates are trusted instead of the system's. A file replaces them.";
  if (caPem === "")
    return "The stored certificates are removed when you save. The system's are trusted then.";
  if (caPem !== null) return `${countCertificates(caPem)} to be trusted instead of the system's.`;
  return "Trusted instead of the system's certificates, for a provider with a private authority.";
}

function countCertificates(pem: string): string {
  const count = pem.match(/-----BEGIN CERTIFICATE-----/gu)?.length ?? 0;
  return count === 1 ? "1 certificate" : `${count} certificates`;
}
