import { Type } from "@sinclair/typebox";
import { CHANGE_BYTES_MAX, VALUE_BYTES_MAX } from "#audit/change.ts";
import { AUDIT_ACTIONS, AUDIT_TARGET_KINDS } from "#audit/event.ts";
import { PRINCIPAL_KINDS, ROLES } from "#identity/principal.ts";
import { KEY_MODELS_MAX } from "#identity/secret.ts";
import { TAG_PAIRS_MAX } from "#kernel/tags.ts";
import { Count, fields, Id, Instant, nullable, oneOf, view } from "./shared.ts";

/** Wire shapes of answers about who may use the server (specification, sections 2.7, 2.8, 2.11 and 4.1). */

/** Absent where there are none. */
const fixed = {
  tags: Type.Optional(
    Type.Array(Type.String(), {
      maxItems: TAG_PAIRS_MAX,
      description: "Fixed tags, `name:value`: on all of its usage; absent: none.",
    }),
  ),
};
const principalFields = {
  id: Id,
  name: Type.String(),
  kind: oneOf(PRINCIPAL_KINDS),
  role: oneOf(ROLES),
  ...fixed,
};
export const PrincipalView = view("Principal", principalFields);
export const PrincipalListEntry = view("PrincipalListEntry", {
  ...principalFields,
  created_at: Instant,
  enabled: Type.Optional(Type.Literal(false, { description: "Only there when the principal is disabled." })),
});
export const PrincipalChanged = view("PrincipalChanged", {
  ...principalFields,
  created_at: Instant,
  enabled: Type.Boolean(),
});
export const SessionsRevoked = view("SessionsRevoked", { revoked: Count });

const lastCharacters = Type.String({ description: "The last 4 characters of the plaintext." });
const common = {
  id: Id,
  label: Type.String(),
  created_at: Instant,
  last_used_at: nullable(Instant),
};
/** Terms that are set; absent where none is. */
const ends = {
  expires_at: Type.Optional(Instant),
  enabled: Type.Optional(Type.Literal(false, { description: "Only there when it is paused." })),
  ...fixed,
};
const allows = {
  models: Type.Optional(
    Type.Array(Type.String(), {
      minItems: 1,
      maxItems: KEY_MODELS_MAX,
      description: "The aliases that it may use; absent: all.",
    }),
  ),
  scope: Type.Optional(
    Type.Literal("inference", {
      description:
        "It reaches models and what was used of them alone; absent: everything that its owner may.",
    }),
  ),
};
const owner = { principal: Type.String({ description: "The owner's name." }) };

const keyFields = { ...common, key_suffix: lastCharacters, ...ends, ...allows };
const plaintextKey = {
  key: Type.String({ description: "The plaintext, `lp_…`: shown here and never again." }),
};
export const KeyView = view("KeyView", keyFields);
export const KeyCreated = view("KeyCreated", { ...keyFields, ...plaintextKey });
export const AdminKeyView = view("AdminKeyView", { ...keyFields, ...owner });
export const AdminKeyCreated = view("AdminKeyCreated", { ...keyFields, ...plaintextKey, ...owner });

const tokenFields = { ...common, token_suffix: lastCharacters, ...ends };
export const RelayTokenView = view("RelayTokenView", tokenFields);
export const RelayTokenCreated = view("RelayTokenCreated", {
  ...tokenFields,
  token: Type.String({ description: "The plaintext, `lpt_…`: shown here and never again." }),
});
export const AdminRelayTokenView = view("AdminRelayTokenView", { ...tokenFields, ...owner });

export const SignedIn = view("SignedIn", { name: Type.String(), role: oneOf(ROLES) });
export const Me = view("Me", {
  authenticated: Type.Boolean(),
  name: Type.Optional(Type.String()),
  role: Type.Optional(oneOf(ROLES)),
  sso_enabled: Type.Boolean(),
  password_enabled: Type.Boolean(),
});

export const AdminEvent = view("AdminEvent", {
  ts: Instant,
  actor_principal_id: Type.String({
    description:
      "UUIDv7, or `local`: a command on the machine of the server; `schedule`: prices to come, at their moment.",
  }),
  actor: nullable(
    Type.String({
      description: "The name, `(local command)`, or `(price schedule)`; null when that principal is gone.",
    }),
  ),
  action: oneOf(AUDIT_ACTIONS),
  target_kind: oneOf(AUDIT_TARGET_KINDS),
  target_ref: Type.String(),
  change: nullable(
    fields({
      label: nullable(
        Type.String({
          description: "The target's name when it was changed; null where `target_ref` is it.",
        }),
      ),
      sentence: Type.String({ description: "The fields in one line, for people." }),
      fields: Type.Array(
        fields({
          field: Type.String({ description: "As requests write it." }),
          before: Type.Unknown({ description: "JSON; null: none." }),
          after: Type.Unknown({ description: "JSON; null: none." }),
          secret: Type.Optional(Type.Literal(true, { description: "Never told: `set` stands for a value." })),
          cut: Type.Optional(
            Type.Literal(true, {
              description: `A value has more than ${VALUE_BYTES_MAX} bytes, and its beginning stands for it.`,
            }),
          ),
        }),
      ),
      omitted: Type.Integer({
        minimum: 0,
        description: `Fields that are left out: they have more than ${CHANGE_BYTES_MAX} bytes together.`,
      }),
    }),
  ),
});
