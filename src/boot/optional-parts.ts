import type { SessionsDeps } from "#identity/sessions.ts";
import { createSingleSignOn, type SingleSignOn, type SingleSignOnDeps } from "#identity/sso.ts";
import type { Notices } from "#notices/notices.ts";
import type { NoticeStore } from "#notices/store.ts";
import type { System } from "#boot/process/system.ts";
import type { Config } from "#boot/settings/config.ts";

/** Null when no webhook is set. */
export async function openNotices(
  { notices: target }: Config,
  store: NoticeStore,
  { clock, ids, log }: System,
): Promise<Notices | null> {
  if (target === null) return null;
  // Loaded here and not above: most servers have no webhook.
  const { openNotices: open } = await import("#notices/notices.ts");
  return open({ target, store, clock, ids, log });
}

/** Null when no issuer is set. The provider is not asked for anything before the first sign-in. */
export async function openSingleSignOn(
  config: Config,
  deps: SessionsDeps & Pick<SingleSignOnDeps, "log" | "signIns" | "usedStates">,
  findOrigin: () => string,
): Promise<SingleSignOn | null> {
  const { oidc, publicUrl } = config;
  if (oidc === null) return null;
  // Loaded here and not above: most servers have no issuer.
  const { createOpenIdProvider } = await import("#identity/oidc.ts");
  return createSingleSignOn({
    ...deps,
    ...oidc,
    provider: createOpenIdProvider({ ...deps, ...oidc }),
    // Never from a request: its sender would choose where the code goes.
    redirectUri: () => `${publicUrl ?? findOrigin()}/auth/callback`,
  });
}
