import type { Capability } from "#catalog/capability.ts";
import type { Origin } from "#catalog/model.ts";
import type { EndpointOverrides } from "#catalog/provider.ts";
import type { Unit } from "#kernel/units.ts";

/** Prices per million units; an absent unit has none. */
export type Prices = { readonly [unit in Unit]?: number };

/** What an admin can set of a provider, without its secrets. */
export interface ProviderSettings {
  readonly baseUrl: string;
  readonly verifyTls: boolean;
  readonly timeoutConnectSeconds: number;
  readonly timeoutReadSeconds: number;
  /** Null is unlimited. */
  readonly maxConcurrency: number | null;
  readonly enabled: boolean;
  readonly endpoints: EndpointOverrides;
}

export type ModelRoute =
  | {
      readonly kind: "binding";
      readonly provider: string;
      readonly upstreamName: string;
      /** In the order of CAPABILITIES. */
      readonly capabilities: readonly Capability[];
    }
  | { readonly kind: "name"; readonly target: string };

/** Where a secret is found when the file is applied; the file itself holds none. */
export type Reference =
  | { readonly kind: "env"; readonly name: string }
  | { readonly kind: "file"; readonly path: string };

export interface FileProvider extends ProviderSettings {
  readonly apiKey: Reference | null;
  /** Path of the PEM file that is trusted instead of the system's roots. */
  readonly caPath: string | null;
}

export interface FileModel {
  readonly route: ModelRoute;
  readonly origin: Origin;
  readonly hidden: boolean;
  /** Its own, complete for a binding; null leaves it to its upstream name, or to its target. */
  readonly prices: Prices | null;
}

export interface FileFeed {
  readonly version: string;
  /** By alias or upstream name. */
  readonly prices: ReadonlyMap<string, Prices>;
}

/** A catalog as `lockport export` writes it; maps are by name. */
export interface CatalogFile {
  readonly providers: ReadonlyMap<string, FileProvider>;
  readonly models: ReadonlyMap<string, FileModel>;
  /** The newest load last. */
  readonly feeds: readonly FileFeed[];
}

/** The format that this file says it has. A file of another number is refused, never guessed at. */
export const FORMAT = 1;
