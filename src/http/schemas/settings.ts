import { Type } from "@sinclair/typebox";
import { Count, fields, Id, Instant, nullable, view } from "./shared.ts";

/** Wire shapes of what an installation is, and of who is signed in. */

const seen = {
  last_seen_at: Type.String({
    ...Instant,
    description: "When the browser was last given a cookie: after an hour of use it gets another one.",
  }),
  expires_at: Instant,
};

export const OwnSessions = view("OwnSessions", {
  sessions: Type.Array(
    fields({ ...seen, current: Type.Boolean({ description: "It is the one that asks." }) }),
    { description: "Those seen last come first." },
  ),
});

export const InstallationSettings = view("InstallationSettings", {
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
