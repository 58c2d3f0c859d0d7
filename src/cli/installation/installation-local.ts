import { ENDPOINTS, isEndpoint } from "#catalog/capability.ts";
import { openCredential } from "#catalog/credential.ts";
import type { Provider } from "#catalog/provider.ts";
import { requireCapability, resolveModel } from "#catalog/resolve.ts";
import type { Local, LocalServices } from "#boot/local.ts";
import type { SecretBox } from "#kernel/crypto.ts";
import { ProxyError } from "#kernel/errors.ts";
import { PAGE_LIMIT_MAX, type Page, type Paged } from "#kernel/page.ts";
import {
  toDiscoveredModelsView,
  toModelView,
  toProviderView,
  toResolveView,
  toSingleProviderView,
} from "#views/catalog.ts";
import {
  toListedPrincipalView,
  toOwnedKeyView,
  toOwnedRelayTokenView,
  toPrincipalView,
} from "#views/identity.ts";
import { toFeedLoadView, toPricingListView } from "#views/pricing.ts";
import { CommandError } from "#cli/screen/failure.ts";
import type { Installation } from "./installation.ts";
import { toReport } from "./report.ts";

/**
 * The data folder of this machine, also while a server has it open; what changes holds from its next request on. Only what
 * changes something opens it for writing.
 */
export function createLocalInstallation(local: Local): Installation {
  const { ledger } = local;
  let services: LocalServices = local;
  const forWriting = async () => (services = await local.forWriting());
  const snapshot = () => services.catalog.snapshot();
  const toFilter = async (name: string | undefined) =>
    name === undefined ? {} : { principalId: (await services.principals.getByName(name)).id };
  /** What was answered a moment ago is on its way into the database: it is waited for first. */
  const report = async (answer: (query: URLSearchParams) => Promise<Response>, query: URLSearchParams) => {
    const notices = toLedgerNotices(await ledger.settle());
    return toReport(await answer(query), notices);
  };
  const deleteRelayToken = async (id: string) => {
    const { relayTokens } = await forWriting();
    await relayTokens.delete({ id }, null);
    return { deleted: id };
  };

  return {
    listProviders: async () => (await snapshot()).providers.map(toProviderView),
    async getProvider(name) {
      const provider = (await snapshot()).findProvider(name);
      if (provider === null) throw new ProxyError("provider_not_found", "No such provider.");
      return toSingleProviderView(provider);
    },
    async createProvider(draft) {
      const { catalog } = await forWriting();
      return toSingleProviderView(await catalog.createProvider(draft, null));
    },
    async updateProvider(name, patch) {
      const { catalog } = await forWriting();
      return toSingleProviderView(await catalog.updateProvider(name, patch, null));
    },
    async deleteProvider(name) {
      const { catalog } = await forWriting();
      await catalog.deleteProvider(name, null);
      return { deleted: name };
    },
    async openKeyMatch() {
      const current = await snapshot();
      return (name, apiKey) => {
        const provider = current.findProvider(name);
        const stored = provider === null ? null : findCredential(services.secrets, provider);
        return stored === null ? null : stored === apiKey;
      };
    },
    discoverModels: async (name) =>
      toDiscoveredModelsView(await services.discovery.discover(name, new AbortController().signal)),

    async listModels({ provider }) {
      const { models } = await snapshot();
      return models
        .filter((each) => provider === undefined || each.provider.name === provider)
        .map(toModelView);
    },
    async createModel(draft) {
      const { catalog } = await forWriting();
      return toModelView(await catalog.createModel(draft, null));
    },
    async updateModel(alias, patch) {
      const { catalog } = await forWriting();
      return toModelView(await catalog.updateModel(alias, patch, null));
    },
    async deleteModel(alias) {
      const { catalog } = await forWriting();
      await catalog.deleteModel(alias, null);
      return { deleted: alias };
    },
    async resolveModel({ alias, endpoint, stream }) {
      if (!isEndpoint(endpoint)) {
        throw new ProxyError("invalid_endpoint", `endpoint is one of ${ENDPOINTS.join(", ")}.`, {
          param: "endpoint",
        });
      }
      const resolved = resolveModel(await snapshot(), alias);
      requireCapability(resolved, endpoint, stream);
      return toResolveView(resolved, endpoint);
    },

    readPricing: async () => toPricingListView(await snapshot()),
    async loadPricing(feed) {
      const { catalog } = await forWriting();
      return toFeedLoadView(await catalog.loadFeed(feed, null));
    },

    listPrincipals: async () =>
      (await listAll((page) => services.principals.list(page))).map(toListedPrincipalView),
    async createPrincipal(draft) {
      const { principals } = await forWriting();
      return toPrincipalView(await principals.create(draft, null));
    },
    async revokeSessions(name) {
      const { principals } = await forWriting();
      return { revoked: await principals.revokeSessions((await principals.getByName(name)).id, null) };
    },

    async listKeys({ principal }) {
      const filter = await toFilter(principal);
      const rows = await listAll((page) => services.keys.list(filter, page));
      const lastUsed = await ledger.loadLastUsed(rows.map(({ id }) => id));
      return rows.map((row) => toOwnedKeyView(row, row.principalName, lastUsed.get(row.id) ?? null));
    },
    async createKey({ principal, label }) {
      const { keys, principals } = await forWriting();
      const owner = await principals.getByName(principal);
      const { key, plaintext } = await keys.create({ principalId: owner.id, label }, null);
      return { ...toOwnedKeyView(key, owner.name, null), key: plaintext };
    },
    async deleteKey(id) {
      const { keys } = await forWriting();
      await keys.delete({ id }, null);
      return { deleted: id };
    },

    async listRelayTokens({ principal }) {
      const filter = await toFilter(principal);
      const rows = await listAll((page) => services.relayTokens.list(filter, page));
      const lastUsed = await ledger.loadLastUsed(rows.map(({ id }) => id));
      return rows.map((row) => toOwnedRelayTokenView(row, row.principalName, lastUsed.get(row.id) ?? null));
    },
    async createRelayToken({ principal, label }) {
      if (principal === undefined) {
        throw new CommandError("usage", "Say whose relay token it is: --principal NAME.");
      }
      const { principals, relayTokens } = await forWriting();
      const owner = await principals.getByName(principal);
      const { token, plaintext } = await relayTokens.create({ principalId: owner.id, label }, null);
      return { ...toOwnedRelayTokenView(token, owner.name, null), token: plaintext };
    },
    deleteRelayToken,
    takeBackRelayToken: deleteRelayToken,

    readSummary: (query) => report(services.reports.summary, query),
    readSeries: (query) => report(services.reports.series, query),
    readRequests: (query) => report(services.reports.requests, query),
  };
}

/** Null also for one that does not open: `doctor` says that. */
function findCredential(secrets: SecretBox, provider: Provider): string | null {
  try {
    return openCredential(secrets, provider);
  } catch {
    return null;
  }
}

function toLedgerNotices(uncommittedBytes: number): readonly string[] {
  if (uncommittedBytes === 0) return [];
  return [
    `${uncommittedBytes} bytes of the usage journal are not in the database yet and are not counted: the server brings them in, in a moment while it runs, else at its next start.`,
  ];
}

/** Every row of a list that comes in pages. */
async function listAll<Row>(list: (page: Page) => Promise<Paged<Row>>): Promise<readonly Row[]> {
  const all: Row[] = [];
  for (;;) {
    const { rows, total } = await list({ limit: PAGE_LIMIT_MAX, offset: all.length });
    all.push(...rows);
    if (rows.length === 0 || all.length >= total) return all;
  }
}
