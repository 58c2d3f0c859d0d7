import { ENDPOINTS, type Endpoint } from "#catalog/endpoint.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import { type FormOf, toChanges, toDefaults } from "#kernel/fields.ts";
import type { ProviderDetails, ProviderDraft, ProviderPatch } from "../api/catalog.ts";
import { toForm } from "../form/fields.ts";
import type { Form } from "../form/use-form.ts";
import type { Asked } from "./discovery.ts";

type EndpointTexts = { readonly [endpoint in Endpoint]: string };

/** What stands in the fields of a provider. */
export interface ProviderForm extends FormOf<typeof PROVIDER_SETTINGS> {
  readonly name: string;
  readonly baseUrl: string;
  /** Empty leaves what is stored. */
  readonly apiKey: string;
  readonly removesKey: boolean;
  /** URLs of their own; empty is none. */
  readonly endpoints: EndpointTexts;
}

/** What every group of a provider's fields takes. */
export interface ProviderFieldsProps {
  readonly form: Form<ProviderForm>;
  /** The provider as it is; null while it is being made. */
  readonly before: ProviderDetails | null;
}

const NO_ENDPOINTS: EndpointTexts = {
  chat: "",
  completions: "",
  embeddings: "",
  transcription: "",
  responses: "",
  messages: "",
  speech: "",
  images: "",
  moderation: "",
  rerank: "",
};

export const NEW_PROVIDER: ProviderForm = {
  name: "",
  baseUrl: "",
  apiKey: "",
  removesKey: false,
  ...toDefaults(PROVIDER_SETTINGS),
  endpoints: NO_ENDPOINTS,
};

export function toProviderForm(provider: ProviderDetails): ProviderForm {
  return {
    name: provider.name,
    baseUrl: provider.base_url,
    apiKey: "",
    removesKey: false,
    ...toForm(PROVIDER_SETTINGS, provider),
    endpoints: { ...NO_ENDPOINTS, ...provider.endpoints },
  };
}

/** What to send to make it; what is as the server has it by itself is left out. */
export function toProviderDraft(form: ProviderForm): ProviderDraft {
  const endpoints = toOverrides(form.endpoints);
  return {
    name: form.name.trim(),
    base_url: form.baseUrl.trim(),
    ...(form.apiKey !== "" && { api_key: form.apiKey.trim() }),
    ...toChanges(PROVIDER_SETTINGS, NEW_PROVIDER, form),
    ...(Object.keys(endpoints).length > 0 && { endpoints }),
  };
}

/** Only what differs from the provider as it is; nothing when nothing does. */
export function toProviderPatch(form: ProviderForm, before: ProviderDetails): NonNullable<ProviderPatch> {
  const was = toProviderForm(before);
  const isSame = ENDPOINTS.every((endpoint) => form.endpoints[endpoint].trim() === was.endpoints[endpoint]);
  return {
    ...(form.baseUrl.trim() !== was.baseUrl && { base_url: form.baseUrl.trim() }),
    ...(form.removesKey && form.apiKey === "" && { remove_credential: true }),
    ...(form.apiKey !== "" && { api_key: form.apiKey.trim() }),
    ...toChanges(PROVIDER_SETTINGS, was, form),
    ...(!isSame && { endpoints: toOverrides(form.endpoints) }),
  };
}

/** What is asked when the fields are tested. */
export function toAsked(form: ProviderForm, before: ProviderDetails | null): Asked {
  return {
    base_url: form.baseUrl.trim().replace(/\/+$/u, ""),
    verify_tls: form.verifyTls,
    timeout_connect: form.timeoutConnectSeconds ?? PROVIDER_SETTINGS.timeoutConnectSeconds.initial,
    has_credential: form.apiKey !== "" || (before?.has_credential === true && !form.removesKey),
    has_custom_ca: form.caPem === null ? before?.has_custom_ca === true : form.caPem !== "",
  };
}

function toOverrides(texts: EndpointTexts): { [endpoint: string]: string } {
  return Object.fromEntries(
    ENDPOINTS.map((endpoint) => [endpoint, texts[endpoint].trim()] as const).filter(([, url]) => url !== ""),
  );
}
