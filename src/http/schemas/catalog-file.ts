import { t, type TSchema } from "elysia";
import { CATALOG_FORMAT } from "#catalog/catalog-draft.ts";
import { ORIGINS } from "#catalog/model.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import type { CatalogFile as CatalogFileShape } from "#views/catalog-file.ts";
import { closed, told, toRequestFields } from "./fields.ts";
import type { PeopleFile } from "#views/people-file.ts";
import { LimitCreateRequest } from "./limits.ts";
import { Capabilities, Overrides, PriceVariants, Pricing, PrincipalCreateRequest } from "./requests.ts";
import { AdminKeyCreateRequest } from "./secret-requests.ts";

/** TypeBox's own pattern for keys ends at line ends, and an upstream name may have U+2028 in it. */
const AnyKey = t.String({ pattern: String.raw`^[\s\S]*$` });
/** Names are anything; what stands under each is described. */
const closedMap = <Schema extends TSchema>(schema: Schema): Schema => ({
  ...schema,
  additionalProperties: false,
});
const { ca_pem: _, ...SETTINGS } = toRequestFields(PROVIDER_SETTINGS);
const CATALOG_PROVIDER = {
  base_url: t.String(),
  api_key_env: t.Optional(t.String({ description: "Where `lockport apply` finds the key; not read here." })),
  api_key_file: t.Optional(t.String({ description: "Like `api_key_env`." })),
  ca_pem_file: t.Optional(t.String({ description: "Where `lockport apply` finds `ca_pem`; not read here." })),
  ...SETTINGS,
  endpoints: t.Optional(closedMap(Overrides)),
  enabled: t.Optional(t.Boolean()),
};
const CATALOG_REST = {
  models: t.Optional(
    t.Record(
      AnyKey,
      t.Object(
        {
          provider: t.Optional(t.String()),
          upstream_name: t.Optional(t.String()),
          capabilities: t.Optional(Capabilities),
          target: t.Optional(t.String()),
          prices: t.Optional(closedMap(Pricing)),
          price_variants: t.Optional(PriceVariants),
          hidden: t.Optional(t.Boolean()),
          origin: t.Optional(told(ORIGINS)),
        },
        { additionalProperties: false },
      ),
      {
        additionalProperties: false,
        description:
          "By alias. Without `prices` a model has those of its upstream name, or of its target; so it is with `price_variants`.",
      },
    ),
  ),
  feeds: t.Optional(
    t.Array(
      t.Object(
        {
          version: t.String(),
          prices: closedMap(t.Record(AnyKey, closedMap(Pricing))),
          variants: t.Optional(closedMap(t.Record(AnyKey, PriceVariants))),
        },
        { additionalProperties: false },
      ),
      { description: "Prices, and lists of `variants`, by alias or upstream name; the newest feed last." },
    ),
  ),
  prices_to_come: t.Optional(
    t.Array(
      t.Object(
        {
          effective_from: t.String({ description: "A moment to come, UTC." }),
          model: t.String({ description: "An alias, or with `feed` also an upstream name." }),
          feed: t.Optional(t.String({ description: "The version of the feed that has them." })),
          prices: t.Optional(closedMap(Pricing)),
          price_variants: t.Optional(PriceVariants),
        },
        { additionalProperties: false },
      ),
      {
        description:
          "By their moments. Without `feed` they are the model's own, whole; one with `feed` leaves all other prices. Of a name and a moment they take the place of those that are there.",
      },
    ),
  ),
};
const { name: _name, ...PRINCIPAL } = PrincipalCreateRequest.properties;
const { name: _limitName, subject, ...LIMIT } = LimitCreateRequest.properties;
const KEY = {
  ...AdminKeyCreateRequest.properties,
  secret_env: t.Optional(
    t.String({ description: "Where `lockport apply` finds the secret; not read here." }),
  ),
  secret_file: t.Optional(t.String({ description: "Like `secret_env`." })),
  secret_sha256: t.Optional(
    t.String({ description: "SHA-256 of the secret in hexadecimal, in place of the secret." }),
  ),
};
const ABSENT = "Absent: left alone, also by `prune`.";
/** What names an entry is its key in the map. */
const toPeople = <Key extends TSchema>(key: Key) => ({
  principals: t.Optional(
    t.Record(
      AnyKey,
      t.Object({ ...PRINCIPAL, enabled: t.Optional(t.Boolean()) }, { additionalProperties: false }),
      {
        additionalProperties: false,
        description: `By name. ${ABSENT}`,
      },
    ),
  ),
  keys: t.Optional(
    t.Record(AnyKey, key, {
      additionalProperties: false,
      description: `By id; one that is no UUID is a name, and means the key of its principal with this label. ${ABSENT}`,
    }),
  ),
  limits: t.Optional(
    t.Record(AnyKey, t.Object({ subject: t.Optional(subject), ...LIMIT }, { additionalProperties: false }), {
      additionalProperties: false,
      description: `By name. ${ABSENT}`,
    }),
  ),
});
const toCatalog = <Provider extends TSchema, Key extends TSchema>(
  title: string,
  provider: Provider,
  key: Key,
) =>
  t.Object(
    {
      lockport_catalog: t.Literal(CATALOG_FORMAT),
      providers: t.Optional(
        t.Record(AnyKey, provider, { additionalProperties: false, description: "By name." }),
      ),
      ...CATALOG_REST,
      ...toPeople(key),
    },
    closed(title),
  );
/** The file that `lockport export` writes. */
export const CatalogFile = t.Unsafe<CatalogFileShape & PeopleFile>(
  toCatalog(
    "CatalogFile",
    t.Object(CATALOG_PROVIDER, { additionalProperties: false }),
    t.Object(KEY, { additionalProperties: false }),
  ),
);
/** A `CatalogFile` with the secrets that it refers to. */
export const CatalogRequest = t.Unsafe<CatalogFileShape & PeopleFile>(
  toCatalog(
    "CatalogRequest",
    t.Object(
      {
        ...CATALOG_PROVIDER,
        api_key: t.Optional(t.String({ description: "For a provider that has none; a stored one stays." })),
        ca_pem: t.Optional(t.String({ description: "For a provider that has none; a stored one stays." })),
      },
      { additionalProperties: false },
    ),
    t.Object(
      {
        ...KEY,
        secret: t.Optional(
          t.String({ description: "`lp_` and 43 letters and digits; without it a stored one stays." }),
        ),
      },
      { additionalProperties: false },
    ),
  ),
);
