import { t } from "elysia";
import { ROTATION_GRACE_SECONDS_MAX } from "#identity/keys.ts";
import { KEY_MODELS_MAX, KEY_SCOPES } from "#identity/secret.ts";
import { closed, open, told } from "./fields.ts";
import { FixedTags, Label } from "./requests.ts";

/** Wire shapes of what clients write of keys and relay tokens. The domain judges expiry and models, with codes of their own. */
const RELAY_TOKEN_TERMS = {
  label: t.Optional(Label),
  expires_at: t.Optional(
    t.Unknown({
      type: ["string", "null"],
      format: "date-time",
      description: "A UTC date-time in the future; requests are refused from then on. Null: it has no end.",
    }),
  ),
  enabled: t.Optional(t.Boolean({ description: "False: it is paused." })),
  tags: FixedTags,
};
const KEY_TERMS = {
  ...RELAY_TOKEN_TERMS,
  models: t.Optional(
    t.Unknown({
      type: ["array", "null"],
      items: { type: "string" },
      minItems: 1,
      maxItems: KEY_MODELS_MAX,
      description: "The aliases that it may use, be they in the catalog or not; null: all.",
    }),
  ),
  scope: t.Optional(
    told(
      KEY_SCOPES,
      "`inference`: it reaches `/v1`, `/my/usage`, `/my/limits` and `/my/requests` only. `full`, which is the default: whatever its owner may.",
    ),
  ),
};
export const AdminKeyCreateRequest = t.Object(
  { principal: t.String(), ...KEY_TERMS },
  closed("AdminKeyCreateRequest"),
);
export const AdminKeyPatchRequest = t.Object(KEY_TERMS, closed("AdminKeyPatchRequest"));
export const AdminRelayTokenPatchRequest = t.Object(RELAY_TOKEN_TERMS, closed("AdminRelayTokenPatchRequest"));

const ROTATION = {
  grace_seconds: t.Optional(
    t.Number({
      multipleOf: 1,
      minimum: 0,
      maximum: ROTATION_GRACE_SECONDS_MAX,
      description: "How long the secret of before goes on working; 0, which is the default: not at all.",
    }),
  ),
};
export const AdminKeyRotateRequest = t.Object(ROTATION, closed("AdminKeyRotateRequest"));

export const KeyRotateRequest = t.Object(ROTATION, open("KeyRotateRequest"));
export const KeyCreateRequest = t.Object(KEY_TERMS, open("KeyCreateRequest"));
export const KeyPatchRequest = t.Object(KEY_TERMS, open("KeyPatchRequest"));
export const RelayTokenCreateRequest = t.Object(RELAY_TOKEN_TERMS, open("RelayTokenCreateRequest"));
export const RelayTokenPatchRequest = t.Object(RELAY_TOKEN_TERMS, open("RelayTokenPatchRequest"));
