import type { ModelDraft, ModelPatch } from "#catalog/model-draft.ts";
import type { ProviderDraft, ProviderPatch } from "#catalog/provider-draft.ts";
import { ProxyError } from "#kernel/errors.ts";
import { PAGE_LIMIT_MAX } from "#kernel/page.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { Installation } from "./installation.ts";
import type { Remote } from "./remote.ts";
import { describeReport } from "./report.ts";
import { readNumber, readObjects, readText, type WireObject } from "./wire.ts";

const ADMIN = "/admin/v1";
/** Of one list, over all its pages: far more than an installation has of anything. */
const ROWS_MAX = 1_000_000;

/** A server, by its admin interface (specification, section 4.6); what changes is audited under the API key's principal. */
export function createRemoteInstallation(remote: Remote): Installation {
  const list = (path: string, field: string, filter: { readonly [name: string]: string | undefined } = {}) =>
    listAll(remote, { path, field, filter });
  const getPrincipal = async (name: string) => {
    const principals = await list(`${ADMIN}/principals`, "principals");
    const found = principals.find((principal) => principal["name"] === name);
    if (found !== undefined) return found;
    throw new ProxyError("principal_not_found", "No such principal.", { param: "principal" });
  };
  /** The interface has an empty list for an owner who does not exist; on a command line that is a typo. */
  const listOwned = async (path: string, field: string, principal: string | undefined) => {
    const rows = await list(`${ADMIN}/${path}`, field, { principal });
    if (rows.length === 0 && principal !== undefined) await getPrincipal(principal);
    return rows;
  };
  const report = async (path: string, field: string, query: URLSearchParams) =>
    describeReport(await remote.send("GET", `/stats/${path}`, { query, field }));

  return {
    listProviders: () => list(`${ADMIN}/providers`, "providers"),
    getProvider: (name) =>
      remote.sendForObject("GET", `${ADMIN}/providers/${encodeURIComponent(name)}`, { field: "name" }),
    createProvider: (draft) => {
      const body = { name: draft.name, wire_format: draft.wireFormat, ...toProviderBody(draft) };
      return remote.sendForObject("POST", `${ADMIN}/providers`, { body, field: "name" });
    },
    updateProvider: (name, patch) => {
      const body = {
        enabled: patch.enabled,
        remove_credential: patch.removeCredential,
        ...toProviderBody(patch),
      };
      return remote.sendForObject("PATCH", `${ADMIN}/providers/${encodeURIComponent(name)}`, {
        body,
        field: "name",
      });
    },
    deleteProvider: (name) =>
      remote.sendForObject("DELETE", `${ADMIN}/providers/${encodeURIComponent(name)}`, { field: "deleted" }),
    openKeyMatch: async () => () => null,
    discoverModels: (name) =>
      remote.sendForObject("GET", `${ADMIN}/providers/${encodeURIComponent(name)}/discover`, {
        field: "models",
      }),

    listModels: ({ provider }) => list(`${ADMIN}/models`, "models", { provider }),
    createModel: (draft) => {
      const body = { ...toModelBody(draft), origin: draft.origin };
      return remote.sendForObject("POST", `${ADMIN}/models`, { body, field: "alias" });
    },
    updateModel: (alias, patch) =>
      remote.sendForObject("PATCH", `${ADMIN}/models/${encodeURIComponent(alias)}`, {
        body: toModelBody(patch),
        field: "alias",
      }),
    deleteModel: (alias) =>
      remote.sendForObject("DELETE", `${ADMIN}/models/${encodeURIComponent(alias)}`, { field: "deleted" }),
    resolveModel: ({ alias, endpoint, stream }) => {
      const query = new URLSearchParams({ model: alias, endpoint, stream: String(stream) });
      return remote.sendForObject("GET", `${ADMIN}/resolve`, { query, field: "alias" });
    },

    readPricing: () => remote.sendForObject("GET", `${ADMIN}/pricing`, { field: "entries" }),
    loadPricing: ({ version, entries }) =>
      remote.sendForObject("POST", `${ADMIN}/pricing`, { body: { version, entries }, field: "entries" }),

    listPrincipals: () => list(`${ADMIN}/principals`, "principals"),
    createPrincipal: ({ name, kind, role }) =>
      remote.sendForObject("POST", `${ADMIN}/principals`, { body: { name, kind, role }, field: "name" }),
    async revokeSessions(name) {
      const id = encodeURIComponent(readText(await getPrincipal(name), "id"));
      return remote.sendForObject("POST", `${ADMIN}/principals/${id}/revoke-sessions`, {
        body: {},
        field: "revoked",
      });
    },

    listKeys: ({ principal }) => listOwned("keys", "keys", principal),
    createKey: ({ principal, label }) =>
      remote.sendForObject("POST", `${ADMIN}/keys`, { body: { principal, label }, field: "key" }),
    deleteKey: (id) =>
      remote.sendForObject("DELETE", `${ADMIN}/keys/${encodeURIComponent(id)}`, { field: "deleted" }),

    listRelayTokens: ({ principal }) => listOwned("relay-tokens", "relay_tokens", principal),
    async createRelayToken({ principal, label }) {
      if (principal !== undefined) {
        throw new CommandError(
          "usage",
          "Over --url a relay token is always that of PROXY_API_KEY's owner: leave --principal out, or run this where the server runs.",
        );
      }
      return remote.sendForObject("POST", "/my/relay-tokens", { body: { label }, field: "token" });
    },
    deleteRelayToken: (id) =>
      remote.sendForObject("DELETE", `${ADMIN}/relay-tokens/${encodeURIComponent(id)}`, { field: "deleted" }),
    takeBackRelayToken: (id) =>
      remote.sendForObject("DELETE", `/my/relay-tokens/${encodeURIComponent(id)}`, { field: "deleted" }),

    readSummary: (query) => report("summary", "usage", query),
    readSeries: (query) => report("series", "series", query),
    readRequests: (query) => report("requests", "requests", query),
  };
}

interface PagedList {
  readonly path: string;
  /** Of the answer; holds the rows. */
  readonly field: string;
  readonly filter: { readonly [name: string]: string | undefined };
}

async function listAll(remote: Remote, { path, field, filter }: PagedList): Promise<readonly WireObject[]> {
  const all: WireObject[] = [];
  for (;;) {
    const query = new URLSearchParams({ limit: String(PAGE_LIMIT_MAX), offset: String(all.length) });
    for (const [name, value] of Object.entries(filter)) if (value !== undefined) query.set(name, value);
    const page = await remote.sendForObject("GET", path, { query, field });
    const rows = readObjects(page, field);
    all.push(...rows);
    if (all.length > ROWS_MAX) {
      throw new CommandError(
        "unreachable",
        `The list of ${field} has more than ${ROWS_MAX} rows: what answers is not a Lockport.`,
      );
    }
    if (rows.length === 0 || all.length >= readNumber(page, "total")) return all;
  }
}

/** What a create and a patch have in common; JSON leaves out what is undefined. */
function toProviderBody(settings: Omit<ProviderDraft, "name" | "baseUrl"> & Pick<ProviderPatch, "baseUrl">) {
  return {
    base_url: settings.baseUrl,
    api_key: settings.apiKey,
    verify_tls: settings.verifyTls,
    ca_pem: settings.caPem,
    timeout_connect: settings.timeoutConnectSeconds,
    timeout_read: settings.timeoutReadSeconds,
    max_concurrency: settings.maxConcurrency,
    endpoints: settings.endpoints,
  };
}

function toModelBody(model: ModelDraft | ModelPatch) {
  return {
    alias: model.alias,
    provider: model.provider,
    upstream_name: model.upstreamName,
    target: model.target,
    capabilities: model.capabilities,
    pricing: model.pricing,
    hidden: model.hidden,
  };
}
