import type { FeedDraft } from "#catalog/feed.ts";
import type { ModelDraft, ModelPatch } from "#catalog/model-draft.ts";
import type { ProviderDraft, ProviderPatch } from "#catalog/provider-draft.ts";
import type { PrincipalDraft } from "#identity/principals.ts";
import type { MatchKey } from "#interchange/litellm-providers.ts";
import type { WireObject } from "./wire.ts";

export interface KeyRequest {
  /** The owner's name. */
  readonly principal: string;
  readonly label: string | undefined;
}

export interface RelayTokenRequest {
  /** The owner's name; undefined is whose API key is used. */
  readonly principal: string | undefined;
  readonly label: string | undefined;
}

export interface ResolveRequest {
  readonly alias: string;
  readonly endpoint: string;
  readonly stream: boolean;
}

/** A report as `/stats` answers it, and what its reader has to know beside it. */
export interface Report {
  readonly body: WireObject;
  /** Sentences, such as that rows were left out. */
  readonly notices: readonly string[];
}

/**
 * A Lockport that commands work on: the databases of this machine, or a server by its admin interface. What goes in is the
 * domain's own, what comes out is spelled as the interface spells it. Lists are complete, over all their pages.
 * Locally nothing is audited (specification, section 4.6). Refusals are `ProxyError` or `CommandError`.
 */
export interface Installation {
  listProviders(): Promise<readonly WireObject[]>;
  /** With its endpoints, which lists leave out. */
  getProvider(name: string): Promise<WireObject>;
  createProvider(draft: ProviderDraft): Promise<WireObject>;
  updateProvider(name: string, patch: ProviderPatch): Promise<WireObject>;
  deleteProvider(name: string): Promise<WireObject>;
  /** Compares keys with what providers have stored: null where that cannot be told, as through the interface. */
  openKeyMatch(): Promise<MatchKey>;
  /** Asks the provider what it has; changes nothing. */
  discoverModels(providerName: string): Promise<WireObject>;

  listModels(filter: { readonly provider: string | undefined }): Promise<readonly WireObject[]>;
  createModel(draft: ModelDraft): Promise<WireObject>;
  updateModel(alias: string, patch: ModelPatch): Promise<WireObject>;
  deleteModel(alias: string): Promise<WireObject>;
  resolveModel(request: ResolveRequest): Promise<WireObject>;

  readPricing(): Promise<WireObject>;
  loadPricing(feed: FeedDraft): Promise<WireObject>;

  listPrincipals(): Promise<readonly WireObject[]>;
  createPrincipal(draft: PrincipalDraft): Promise<WireObject>;
  revokeSessions(principalName: string): Promise<WireObject>;
  listKeys(filter: { readonly principal: string | undefined }): Promise<readonly WireObject[]>;
  createKey(request: KeyRequest): Promise<WireObject>;
  deleteKey(id: string): Promise<WireObject>;
  listRelayTokens(filter: { readonly principal: string | undefined }): Promise<readonly WireObject[]>;
  createRelayToken(request: RelayTokenRequest): Promise<WireObject>;
  deleteRelayToken(id: string): Promise<WireObject>;
  /** One that `createRelayToken` made for the same caller, who need not be an admin. */
  takeBackRelayToken(id: string): Promise<WireObject>;

  /** `GET /stats/summary`, `/stats/series` and `/stats/requests`, with their query. */
  readSummary(query: URLSearchParams): Promise<Report>;
  readSeries(query: URLSearchParams): Promise<Report>;
  readRequests(query: URLSearchParams): Promise<Report>;
}
