import { Type } from "@sinclair/typebox";
import { toActor } from "#http/door/guard.ts";
import type { HttpConfig } from "#http/door/host.ts";
import { json, route } from "#http/door/route.ts";
import { ALICE, INSTANT, LATER } from "#http/schemas/examples.ts";
import { SessionsRevoked } from "#http/schemas/identity.ts";
import { NoRequest } from "#http/schemas/requests.ts";
import { Count, fields, Id, Instant, nullable, view } from "#http/schemas/shared.ts";
import type { Caller } from "#identity/caller.ts";
import type { Principals } from "#identity/principals.ts";
import type { SingleSignOn } from "#identity/sso.ts";
import { INTERFACE_VERSION, PRODUCT_COMMIT, PRODUCT_VERSION } from "#kernel/version.ts";
import { toOwnSessionView, toSignedInViews } from "#views/sessions.ts";

/** The settings of an installation, as of its start. */
export interface Installation {
  /** Null keeps the request log for ever. */
  readonly usageRetentionDays: number | null;
  readonly sessionTtlSeconds: number;
  /** Bytes on disk: tables with their indexes, or files with what belongs to each. */
  measure(): Promise<{
    readonly catalogBytes: number;
    readonly usageBytes: number;
    readonly journalBytes: number;
  }>;
}

export interface SettingsDeps {
  readonly config: Pick<HttpConfig, "adminPasswordEnabled">;
  readonly installation: Installation;
  readonly principals: Principals;
  /** Null: single sign-on is not configured. */
  readonly sso: SingleSignOn | null;
}

const seen = {
  last_seen_at: Type.String({
    ...Instant,
    description: "When the browser was last given a cookie: after an hour of use it gets another one.",
  }),
  expires_at: Instant,
};

const OwnSessions = view("OwnSessions", {
  sessions: Type.Array(
    fields({ ...seen, current: Type.Boolean({ description: "It is the one that asks." }) }),
    { description: "Those seen last come first." },
  ),
});

const InstallationSettings = view("InstallationSettings", {
  version: Type.String({ description: "Of the product." }),
  commit: nullable(Type.String({ description: "That the executable was made of; null from source." })),
  interface_version: Type.String(),
  storage: fields({
    catalog_bytes: Count,
    usage_bytes: Count,
    journal_bytes: Count,
  }),
  usage_retention_days: nullable(Type.Integer({ minimum: 1, description: "Null keeps every request." })),
  session_ttl_seconds: Count,
  sso_enabled: Type.Boolean(),
  password_enabled: Type.Boolean(),
  sessions: Type.Array(fields({ principal_id: Id, principal: Type.String(), sessions: Count, ...seen }), {
    description:
      "One entry for each principal that is signed in, the one seen last first; `expires_at` is of the session that lasts longest. 1,000 sessions at most.",
  }),
});

const OWN_SESSIONS = { sessions: [{ last_seen_at: INSTANT, expires_at: LATER, current: true }] };

/** The server's version and settings, and who is signed in. No secret, address or path of the machine is told. */
export function settingsRoutes({ config, installation, principals, sso }: SettingsDeps) {
  return [
    route({
      method: "GET",
      path: "/my/sessions",
      tag: "Self-service",
      access: "caller",
      summary: "Browsers in which one is signed in",
      answer: json(200, OwnSessions, OWN_SESSIONS),
      run: async ({ caller }) => {
        const own = await principals.listSessions(caller.principal.id);
        return { sessions: own.map(({ session }) => toOwnSessionView(session, findOwnSession(caller))) };
      },
    }),
    route({
      method: "POST",
      path: "/my/sessions/revoke-others",
      tag: "Self-service",
      access: "caller",
      summary: "End every session of one's own but the one that asks",
      description: "Keys stay. The body may be left out.",
      body: NoRequest,
      example: {},
      isBodyOptional: true,
      answer: json(200, SessionsRevoked, { revoked: 2 }),
      run: async ({ caller }) => ({
        revoked: await principals.revokeSessions(
          caller.principal.id,
          toActor(caller),
          findOwnSession(caller),
        ),
      }),
    }),
    route({
      method: "GET",
      path: "/admin/v1/settings",
      tag: "Operation",
      access: "admin",
      summary: "What runs here: versions, sizes, retention, sign-in, and who is signed in",
      answer: json(200, InstallationSettings, {
        version: "0.1.0",
        commit: "166cc01b8e03",
        interface_version: "1.0.0",
        storage: { catalog_bytes: 167_936, usage_bytes: 9_437_184, journal_bytes: 1_048_576 },
        usage_retention_days: 90,
        session_ttl_seconds: 604_800,
        sso_enabled: false,
        password_enabled: true,
        sessions: [
          {
            principal_id: ALICE.id,
            principal: ALICE.name,
            sessions: 2,
            last_seen_at: INSTANT,
            expires_at: LATER,
          },
        ],
      }),
      run: async () => {
        const [sizes, signedIn] = await Promise.all([installation.measure(), principals.listSessions(null)]);
        return {
          version: PRODUCT_VERSION,
          commit: PRODUCT_COMMIT,
          interface_version: INTERFACE_VERSION,
          storage: {
            catalog_bytes: sizes.catalogBytes,
            usage_bytes: sizes.usageBytes,
            journal_bytes: sizes.journalBytes,
          },
          usage_retention_days: installation.usageRetentionDays,
          session_ttl_seconds: installation.sessionTtlSeconds,
          sso_enabled: sso !== null,
          password_enabled: config.adminPasswordEnabled,
          sessions: toSignedInViews(signedIn),
        };
      },
    }),
  ] as const;
}

/** The session that asks; null for a key. */
function findOwnSession({ credential }: Caller): string | null {
  return credential.kind === "session" ? credential.session.tokenHash : null;
}
