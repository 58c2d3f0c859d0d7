import { t } from "elysia";
import { CAPABILITIES } from "#catalog/capability.ts";
import { ORIGINS } from "#catalog/model.ts";
import { PRINCIPAL_KINDS, ROLES } from "#identity/principal.ts";
import { LABEL_LENGTH_MAX, NAME_LENGTH_MAX } from "#kernel/text.ts";

/**
 * Wire shapes of what clients write (specification, section 2). They hold the JSON types and, on admin bodies, that there
 * is no unknown field; what a value means is the domain's to judge, with codes of its own. `enum` and `maxLength` are
 * told to readers of the OpenAPI document here and are held there.
 */
const closed = { additionalProperties: false } as const;
const open = { additionalProperties: true } as const;

/** A keyword that TypeBox does not know: shown in the OpenAPI document, judged by the domain. */
const words = (values: readonly string[]) => t.String({ enum: [...values] });
const Name = t.String({ description: `At most ${NAME_LENGTH_MAX} characters.` });
const Label = t.String({ description: `At most ${LABEL_LENGTH_MAX} characters.` });
const Overrides = t.Record(t.String(), t.String());
/** Not Elysia's `Integer`: it is a transform, which turns a body that is no object into an empty one. */
const Cap = t.Union([t.Number({ multipleOf: 1 }), t.Null()]);

export const ProviderCreateRequest = t.Object(
  {
    name: Name,
    base_url: t.String(),
    wire_format: t.Optional(t.String()),
    api_key: t.Optional(t.String()),
    verify_tls: t.Optional(t.Boolean()),
    ca_pem: t.Optional(t.String()),
    timeout_connect: t.Optional(t.Number()),
    timeout_read: t.Optional(t.Number()),
    max_concurrency: t.Optional(Cap),
    endpoints: t.Optional(Overrides),
  },
  closed,
);

export const ProviderPatchRequest = t.Object(
  {
    enabled: t.Optional(t.Boolean()),
    base_url: t.Optional(t.String()),
    api_key: t.Optional(t.String()),
    remove_credential: t.Optional(t.Boolean()),
    verify_tls: t.Optional(t.Boolean()),
    ca_pem: t.Optional(t.String()),
    timeout_connect: t.Optional(t.Number()),
    timeout_read: t.Optional(t.Number()),
    max_concurrency: t.Optional(Cap),
    endpoints: t.Optional(Overrides),
  },
  closed,
);

const Capabilities = t.Array(words(CAPABILITIES));
/** What a price may be is the catalog's rule, with a code of its own. */
const Pricing = t.Record(t.String(), t.Unknown());

export const ModelCreateRequest = t.Object(
  {
    alias: t.Optional(t.String()),
    provider: t.Optional(t.String()),
    upstream_name: t.Optional(t.String()),
    target: t.Optional(t.String()),
    capabilities: t.Optional(Capabilities),
    origin: t.Optional(words(ORIGINS)),
    pricing: t.Optional(Pricing),
    hidden: t.Optional(t.Boolean()),
  },
  closed,
);

export const ModelPatchRequest = t.Object(
  {
    alias: t.Optional(t.String()),
    provider: t.Optional(t.String()),
    upstream_name: t.Optional(t.String()),
    target: t.Optional(t.String()),
    capabilities: t.Optional(Capabilities),
    pricing: t.Optional(Pricing),
    hidden: t.Optional(t.Boolean()),
  },
  closed,
);

export const PrincipalCreateRequest = t.Object(
  { name: Name, kind: t.Optional(words(PRINCIPAL_KINDS)), role: t.Optional(words(ROLES)) },
  closed,
);

export const PrincipalPatchRequest = t.Object(
  { role: t.Optional(words(ROLES)), enabled: t.Optional(t.Boolean()) },
  closed,
);

export const AdminKeyCreateRequest = t.Object({ principal: t.String(), label: t.Optional(Label) }, closed);

/** Unknown fields are ignored under `/my` and `/auth`. */
export const KeyCreateRequest = t.Object({ label: t.Optional(Label) }, open);
export const PasswordRequest = t.Object({ password: t.String() }, open);

/** A request without a body of meaning, such as a revocation: anything that is a JSON object. */
export const NoRequest = t.Object({}, open);
