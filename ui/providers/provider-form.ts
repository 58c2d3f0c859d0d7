import { ENDPOINTS, type Endpoint } from "#catalog/endpoint.ts";
import { AUTH_STYLE_DEFAULT, type AuthStyle } from "#catalog/auth-style.ts";
import type { ProviderDetails, ProviderDraft, ProviderPatch } from "../api/catalog.ts";
import type { Form } from "../form/use-form.ts";

/** As the server has them when nothing is written. */
export const TIMEOUT_CONNECT_SECONDS = 10;
export const TIMEOUT_READ_SECONDS = 300;

type EndpointTexts = { readonly [endpoint in Endpoint]: string };

/** What stands in the fields of a provider. */
export interface ProviderForm {
  readonly name: string;
  readonly baseUrl: string;
  /** Empty leaves what is stored. */
  readonly apiKey: string;
  readonly removesKey: boolean;
  readonly authStyle: AuthStyle;
  readonly verifyTls: boolean;
  /** Null leaves what is stored; empty removes it. */
  readonly caPem: string | null;
  /** Null is the default. */
  readonly timeoutConnectSeconds: number | null;
  readonly timeoutReadSeconds: number | null;
  /** Null is unlimited. */
  readonly maxConcurrency: number | null;
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
  authStyle: AUTH_STYLE_DEFAULT,
  verifyTls: true,
  caPem: null,
  timeoutConnectSeconds: TIMEOUT_CONNECT_SECONDS,
  timeoutReadSeconds: TIMEOUT_READ_SECONDS,
  maxConcurrency: null,
  endpoints: NO_ENDPOINTS,
};

export function toProviderForm(provider: ProviderDetails): ProviderForm {
  return {
    name: provider.name,
    baseUrl: provider.base_url,
    apiKey: "",
    removesKey: false,
    authStyle: provider.auth_style ?? AUTH_STYLE_DEFAULT,
    verifyTls: provider.verify_tls,
    caPem: null,
    timeoutConnectSeconds: provider.timeout_connect,
    timeoutReadSeconds: provider.timeout_read,
    maxConcurrency: provider.max_concurrency,
    endpoints: { ...NO_ENDPOINTS, ...provider.endpoints },
  };
}

/** What to send to make it; what is as the server has it by itself is left out. */
export function toProviderDraft(form: ProviderForm): ProviderDraft {
  const endpoints = toOverrides(form.endpoints);
  return {
    name: form.name.trim(),
    base_url: form.baseUrl.trim(),
    verify_tls: form.verifyTls,
    timeout_connect: form.timeoutConnectSeconds ?? TIMEOUT_CONNECT_SECONDS,
    timeout_read: form.timeoutReadSeconds ?? TIMEOUT_READ_SECONDS,
    ...(form.apiKey !== "" && { api_key: form.apiKey.trim() }),
    ...(form.authStyle !== AUTH_STYLE_DEFAULT && { auth_style: form.authStyle }),
    ...(form.caPem !== null && form.caPem !== "" && { ca_pem: form.caPem }),
    ...(form.maxConcurrency !== null && { max_concurrency: form.maxConcurrency }),
    ...(Object.keys(endpoints).length > 0 && { endpoints }),
  };
}

/** Only what differs from the provider as it is; nothing when nothing does. */
export function toProviderPatch(form: ProviderForm, before: ProviderDetails): NonNullable<ProviderPatch> {
  const was = toProviderForm(before);
  const timeoutConnect = form.timeoutConnectSeconds ?? TIMEOUT_CONNECT_SECONDS;
  const timeoutRead = form.timeoutReadSeconds ?? TIMEOUT_READ_SECONDS;
  const isSame = ENDPOINTS.every((endpoint) => form.endpoints[endpoint].trim() === was.endpoints[endpoint]);
  return {
    ...(form.baseUrl.trim() !== was.baseUrl && { base_url: form.baseUrl.trim() }),
    ...(form.removesKey && form.apiKey === "" && { remove_credential: true }),
    ...(form.apiKey !== "" && { api_key: form.apiKey.trim() }),
    ...(form.authStyle !== was.authStyle && { auth_style: form.authStyle }),
    ...(form.verifyTls !== was.verifyTls && { verify_tls: form.verifyTls }),
    ...(form.caPem !== null && { ca_pem: form.caPem }),
    ...(timeoutConnect !== was.timeoutConnectSeconds && { timeout_connect: timeoutConnect }),
    ...(timeoutRead !== was.timeoutReadSeconds && { timeout_read: timeoutRead }),
    ...(form.maxConcurrency !== was.maxConcurrency && { max_concurrency: form.maxConcurrency ?? 0 }),
    ...(!isSame && { endpoints: toOverrides(form.endpoints) }),
  };
}

function toOverrides(texts: EndpointTexts): { [endpoint: string]: string } {
  return Object.fromEntries(
    ENDPOINTS.map((endpoint) => [endpoint, texts[endpoint].trim()] as const).filter(([, url]) => url !== ""),
  );
}
