import { useState } from "react";
import type { AuthStyle } from "#catalog/auth-style.ts";
import { isEndpoint, toRow, type Endpoint } from "#catalog/endpoint.ts";
import { Button } from "../components/button.tsx";
import { CAPABILITIES_SHOWN, toCapabilityLabel } from "../components/capability.tsx";
import { SwitchField } from "../components/choice-field.tsx";
import { toFieldError } from "../components/field-frame.tsx";
import { FileDrop } from "../components/file-drop.tsx";
import { NumberField } from "../components/number-field.tsx";
import { SelectField } from "../components/select-field.tsx";
import { TextField } from "../components/text-field.tsx";
import { TIMEOUT_CONNECT_SECONDS, TIMEOUT_READ_SECONDS, type ProviderFieldsProps } from "./provider-form.ts";

/** The server's limit: the certificates of a whole operating system are a quarter of it. */
const CA_SIZE_BYTES_MAX = 1_048_576;
const TIMEOUT_SECONDS_MAX = 86_400;
const AUTH_STYLE_OPTIONS = [
  { value: "bearer", label: "Authorization: Bearer" },
  { value: "x-api-key", label: "x-api-key", detail: "Anthropic's API" },
] as const satisfies readonly {
  readonly value: AuthStyle;
  readonly label: string;
  readonly detail?: string;
}[];
const PARAMS = [
  "auth_style",
  "verify_tls",
  "ca_pem",
  "timeout_connect",
  "timeout_read",
  "max_concurrency",
  "endpoints",
];

/** What most providers need no change of; open when one of its fields was refused. */
export function AdvancedFields(props: ProviderFieldsProps) {
  const { form, before } = props;
  const { values, set, failure } = form;
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
        <SelectField
          label="Credential header"
          options={AUTH_STYLE_OPTIONS}
          value={values.authStyle}
          error={toFieldError(failure, "auth_style")}
          onValueChange={(authStyle) => set({ authStyle })}
        />
        <SwitchField
          label="Verify the TLS certificate"
          hint={
            values.verifyTls
              ? undefined
              : "Without verification, traffic to the provider can be read and changed on the way."
          }
          checked={values.verifyTls}
          onCheckedChange={(verifyTls) => set({ verifyTls })}
        />
        <CaField {...props} />
        <div className="grid gap-4 sm:grid-cols-3">
          <NumberField
            label="Connect timeout"
            suffix="seconds"
            min={0}
            max={TIMEOUT_SECONDS_MAX}
            placeholder={String(TIMEOUT_CONNECT_SECONDS)}
            {...form.field("timeoutConnectSeconds", "timeout_connect")}
          />
          <NumberField
            label="Read timeout"
            suffix="seconds"
            min={0}
            max={TIMEOUT_SECONDS_MAX}
            placeholder={String(TIMEOUT_READ_SECONDS)}
            hint="The longest pause in a stream, and the total time of other requests"
            {...form.field("timeoutReadSeconds", "timeout_read")}
          />
          <NumberField
            label="Max concurrency"
            integer
            placeholder="unlimited"
            hint="More requests wait in a queue, at most for the read timeout"
            {...form.field("maxConcurrency", "max_concurrency")}
          />
        </div>
        <EndpointFields form={form} />
        {before !== null && <p className="text-xs text-ink-faint">Changes apply immediately.</p>}
      </div>
    </details>
  );
}

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
        label="Certificate authority (PEM)"
        accept=".pem,.crt,.cer,application/x-pem-file"
        sizeBytesMax={CA_SIZE_BYTES_MAX}
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
