import type { AuditStore } from "#audit/store.ts";
import type { Catalog } from "#catalog/catalog.ts";
import type { Exchange } from "#forward/exchange.ts";
import type { Authenticator } from "#identity/caller.ts";
import type { KeyUse } from "#identity/key-use.ts";
import type { Keys } from "#identity/keys.ts";
import type { PasswordSignIn } from "#identity/password.ts";
import type { Principals } from "#identity/principals.ts";
import type { IdentityStore } from "#identity/store.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import type { StatsStore } from "#stats/store.ts";

/** The settings that this room reads; the process's whole configuration fits. */
export interface HttpConfig {
  /** The address that the server is bound to. */
  readonly host: string;
  /** An origin without a path; null when none was set. */
  readonly publicUrl: string | null;
  /** Host names and addresses without a port, as they were set. */
  readonly allowedHosts: readonly string[];
  readonly maxBodyBytes: number;
  readonly adminPasswordEnabled: boolean;
}

/** Everything that the interface stands on, made by whoever starts the process. */
export interface AppDeps {
  readonly config: HttpConfig;
  readonly clock: Clock;
  readonly log: Log;
  readonly authenticator: Authenticator;
  readonly identity: IdentityStore;
  readonly principals: Principals;
  readonly keys: Keys;
  readonly keyUse: KeyUse;
  readonly passwordSignIn: PasswordSignIn;
  readonly catalog: Catalog;
  readonly exchange: Pick<Exchange, "run">;
  readonly audit: AuditStore;
  readonly stats: StatsStore;
}
