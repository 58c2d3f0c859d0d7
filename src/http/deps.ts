import type { AuditStore } from "#audit/event.ts";
import type { Catalog } from "#catalog/catalog.ts";
import type { Discovery } from "#catalog/discovery.ts";
import type { Exchange } from "#forward/exchange.ts";
import type { Authenticator } from "#identity/caller.ts";
import type { KeyUse } from "#identity/key-use.ts";
import type { Devices } from "#identity/attempts.ts";
import type { Keys, OwnedSecrets } from "#identity/keys.ts";
import type { LoginLinkSignIn } from "#identity/login-links.ts";
import type { PasswordSignIn } from "#identity/password.ts";
import type { Principals } from "#identity/principals.ts";
import type { SingleSignOn } from "#identity/sso.ts";
import type { IdentityStore } from "#identity/store.ts";
import type { Clock } from "#kernel/clock.ts";
import type { Log } from "#kernel/log.ts";
import type { LimitAdmin } from "#limits/limit-admin.ts";
import type { People } from "#people/people.ts";
import type { NoticeTrial } from "#notices/trial.ts";
import type { Repricings } from "#stats/repricings.ts";
import type { StatsStore } from "#stats/store.ts";
import type { Installation } from "#http/api/settings.ts";
import type { HttpConfig } from "#http/door/host.ts";
import type { RefusalStore } from "#http/door/refusals.ts";
import type { AssetTable } from "#http/page/assets.ts";
import type { MetricsSources } from "#http/metrics/metrics.ts";
import type { RelayDoor } from "#http/ingress/transparent.ts";

/** Everything that the interface stands on, wired by the room that starts the process. */
export interface AppDeps {
  readonly config: HttpConfig;
  readonly clock: Clock;
  readonly log: Log;
  /** The lane that ends the ids of requests (`eventIdToUuid`); 0 when absent. */
  readonly lane?: number;
  readonly authenticator: Authenticator;
  readonly identity: IdentityStore;
  readonly principals: Principals;
  readonly keys: Keys;
  readonly relayTokens: OwnedSecrets;
  readonly keyUse: KeyUse;
  readonly devices: Devices;
  readonly passwordSignIn: PasswordSignIn;
  readonly loginLinkSignIn: LoginLinkSignIn;
  /** Null: single sign-on is not configured. */
  readonly sso: SingleSignOn | null;
  readonly catalog: Catalog;
  readonly discovery: Discovery;
  readonly exchange: Pick<Exchange, "run">;
  /** Null: the relay is off. */
  readonly relay: RelayDoor | null;
  readonly limits: LimitAdmin;
  readonly people: People;
  readonly notices: NoticeTrial;
  readonly audit: AuditStore;
  readonly stats: StatsStore;
  readonly repricings: Repricings;
  /** But for the refusals, which are noted here. */
  readonly metrics: Omit<MetricsSources, "refusals">;
  readonly installation: Installation;
  /** Absent: refusals are gone with the process. */
  readonly refusalStore?: RefusalStore;
  /** Null: the page was not built. */
  readonly assets: AssetTable | null;
}

/** The dependencies that a server gives to its routes: it opens the files of the page when its first route behind Elysia is asked for. */
export interface ServedDeps extends Omit<AppDeps, "assets"> {
  readonly openAssets: () => Promise<AssetTable | null>;
}
