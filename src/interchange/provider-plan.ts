import { parseProviderDraft } from "#catalog/provider-draft.ts";
import { TIMEOUT_CONNECT_SECONDS_DEFAULT, TIMEOUT_READ_SECONDS_DEFAULT } from "#catalog/provider.ts";
import { ProxyError } from "#kernel/errors.ts";
import type { CatalogFile, FileProvider, ProviderSettings, Reference } from "./catalog-file.ts";
import type { CatalogState, StateProvider } from "./catalog-state.ts";
import type { Change, Note, Step } from "./plan.ts";

/** What a provider's references stand for here; null for one that leads to nothing. */
export interface ProviderSecrets {
  readonly apiKey: string | null;
  readonly caPem: string | null;
}

export interface ProviderPlan {
  readonly changes: readonly Change[];
  /** Providers that the file does not have, for when all of their models are gone. */
  readonly removals: readonly Change[];
  readonly notes: readonly Note[];
}

export function planProviders(
  file: CatalogFile,
  state: CatalogState,
  secrets: ReadonlyMap<string, ProviderSecrets>,
): ProviderPlan {
  const changes: Change[] = [];
  const notes: Note[] = [];
  for (const [name, provider] of file.providers) {
    const secret = secrets.get(name) ?? NO_SECRETS;
    requireUsable(name, provider, secret);
    const before = state.providers.get(name);
    changes.push(
      ...(before === undefined
        ? [planAdd(name, provider, secret)]
        : planChange(name, provider, { before, secret })),
    );
    notes.push(...listMissing(name, provider, { before, secret }));
  }
  const removals = [...state.providers]
    .filter(([name]) => !file.providers.has(name))
    .map(([name, { baseUrl }]): Change => {
      const steps = [{ kind: "delete_provider", name }] as const;
      return { action: "remove", subject: "provider", name, details: [baseUrl], steps };
    });
  return { changes, removals, notes };
}

const NO_SECRETS: ProviderSecrets = { apiKey: null, caPem: null };

interface ProviderContext {
  readonly before: StateProvider | undefined;
  readonly secret: ProviderSecrets;
}

/** Fields as the file spells them. */
const FIELDS: readonly (readonly [name: string, show: (settings: ProviderSettings) => string])[] = [
  ["base_url", ({ baseUrl }) => baseUrl],
  ["verify_tls", ({ verifyTls }) => String(verifyTls)],
  ["timeout_connect", ({ timeoutConnectSeconds }) => String(timeoutConnectSeconds)],
  ["timeout_read", ({ timeoutReadSeconds }) => String(timeoutReadSeconds)],
  [
    "max_concurrency",
    ({ maxConcurrency }) => (maxConcurrency === null ? "unlimited" : String(maxConcurrency)),
  ],
  ["endpoints", describeEndpoints],
  ["enabled", ({ enabled }) => String(enabled)],
];

const USUAL = {
  verifyTls: true,
  timeoutConnectSeconds: TIMEOUT_CONNECT_SECONDS_DEFAULT,
  timeoutReadSeconds: TIMEOUT_READ_SECONDS_DEFAULT,
  maxConcurrency: null,
  endpoints: {},
  enabled: true,
};

function planAdd(name: string, provider: FileProvider, { apiKey, caPem }: ProviderSecrets): Change {
  const { baseUrl, verifyTls, timeoutConnectSeconds, timeoutReadSeconds, maxConcurrency, endpoints } =
    provider;
  const draft = {
    name,
    baseUrl,
    verifyTls,
    timeoutConnectSeconds,
    timeoutReadSeconds,
    maxConcurrency: maxConcurrency ?? undefined,
    endpoints,
    apiKey: apiKey ?? undefined,
    caPem: caPem ?? undefined,
  };
  const steps: readonly Step[] = [
    { kind: "create_provider", draft },
    ...(provider.enabled ? [] : [{ kind: "update_provider", name, patch: { enabled: false } } as const]),
  ];
  const usual = { ...USUAL, baseUrl };
  const details = [
    baseUrl,
    ...(apiKey === null ? ["no API key"] : [`API key from ${describeReference(provider.apiKey)}`]),
    ...(caPem === null ? [] : [`trusts ${provider.caPath}`]),
    ...FIELDS.filter(([, show]) => show(provider) !== show(usual)).map(
      ([field, show]) => `${field}: ${show(provider)}`,
    ),
  ];
  return { action: "add", subject: "provider", name, details, steps };
}

function planChange(
  name: string,
  provider: FileProvider,
  { before, secret: { apiKey, caPem } }: ProviderContext & { readonly before: StateProvider },
): readonly Change[] {
  const changed = FIELDS.filter(([, show]) => show(before) !== show(provider));
  const differs = new Set(changed.map(([field]) => field));
  const givesKey = apiKey !== null && !before.hasCredential;
  const givesCa = caPem !== null && !before.hasCustomCa;
  const details = [
    ...changed.map(([field, show]) => `${field}: ${show(before)} -> ${show(provider)}`),
    ...(differs.has("base_url") && before.hasCredential
      ? ["its stored API key goes to the new address"]
      : []),
    ...(givesKey ? [`API key from ${describeReference(provider.apiKey)}`] : []),
    ...(givesCa ? [`trusts ${provider.caPath}`] : []),
  ];
  if (details.length === 0) return [];
  const patch = {
    ...(differs.has("base_url") && { baseUrl: provider.baseUrl }),
    ...(differs.has("verify_tls") && { verifyTls: provider.verifyTls }),
    ...(differs.has("timeout_connect") && { timeoutConnectSeconds: provider.timeoutConnectSeconds }),
    ...(differs.has("timeout_read") && { timeoutReadSeconds: provider.timeoutReadSeconds }),
    // Zero clears the cap, also over JSON.
    ...(differs.has("max_concurrency") && { maxConcurrency: provider.maxConcurrency ?? 0 }),
    ...(differs.has("endpoints") && { endpoints: provider.endpoints }),
    ...(differs.has("enabled") && { enabled: provider.enabled }),
    ...(givesKey && { apiKey }),
    ...(givesCa && { caPem }),
  };
  const steps = [{ kind: "update_provider", name, patch }] as const;
  return [{ action: "change", subject: "provider", name, details, steps }];
}

function describeEndpoints({ endpoints }: ProviderSettings): string {
  const pairs = Object.entries(endpoints).map(([endpoint, url]) => `${endpoint}=${url}`);
  return pairs.length === 0 ? "none" : pairs.toSorted().join(" ");
}

function describeReference(reference: Reference | null): string {
  if (reference === null) return "nowhere";
  return reference.kind === "env" ? reference.name : reference.path;
}

function listMissing(
  name: string,
  provider: FileProvider,
  { before, secret }: ProviderContext,
): readonly Note[] {
  const notes: Note[] = [];
  if (provider.apiKey !== null && secret.apiKey === null && before?.hasCredential !== true) {
    const where =
      provider.apiKey.kind === "env"
        ? `the variable ${provider.apiKey.name} is not set`
        : `the file ${provider.apiKey.path} is not there`;
    notes.push({
      line: null,
      sentence: `${name} has no API key: ${where}. Apply the file again with it, or: lockport provider set ${name} --api-key-file -`,
    });
  }
  if (provider.caPath !== null && secret.caPem === null && before?.hasCustomCa !== true) {
    notes.push({
      line: null,
      sentence: `${name} trusts the system's roots only: the file ${provider.caPath} is not there. Apply the file again with it, or: lockport provider set ${name} --ca-file PATH`,
    });
  }
  return notes;
}

/** A secret that a header or a trust root cannot hold is found before anything is changed. */
function requireUsable(name: string, { baseUrl }: FileProvider, { apiKey, caPem }: ProviderSecrets): void {
  try {
    parseProviderDraft({ name, baseUrl, apiKey: apiKey ?? "", caPem: caPem ?? "" });
  } catch (cause) {
    if (!(cause instanceof ProxyError) || cause.param === null) throw cause;
    throw new ProxyError(cause.code, `${name}: ${cause.message}`, { param: cause.param });
  }
}
