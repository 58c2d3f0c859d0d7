import { t, type TSchema } from "elysia";
import { CATALOG_FORMAT } from "#catalog/catalog-draft.ts";
import { ORIGINS } from "#catalog/model.ts";
import { PROVIDER_SETTINGS } from "#catalog/provider-fields.ts";
import type { CatalogFile as CatalogFileShape } from "#views/catalog-file.ts";
import { closed, told, toRequestFields } from "./fields.ts";
import { Capabilities, Overrides, Pricing } from "./requests.ts";

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
          hidden: t.Optional(t.Boolean()),
          origin: t.Optional(told(ORIGINS)),
        },
        { additionalProperties: false },
      ),
      {
        additionalProperties: false,
        description: "By alias. Without `prices` a model has those of its upstream name, or of its target.",
      },
    ),
  ),
  feeds: t.Optional(
    t.Array(
      t.Object(
        { version: t.String(), prices: closedMap(t.Record(AnyKey, closedMap(Pricing))) },
        { additionalProperties: false },
      ),
      { description: "Prices by alias or upstream name; the newest feed last." },
    ),
  ),
};
const toCatalog = <Provider extends TSchema>(title: string, provider: Provider) =>
  t.Object(
    {
      lockport_catalog: t.Literal(CATALOG_FORMAT),
      providers: t.Optional(
        t.Record(AnyKey, provider, { additionalProperties: false, description: "By name." }),
      ),
      ...CATALOG_REST,
    },
    closed(title),
  );
/** The file that `lockport export` writes. */
export const CatalogFile = t.Unsafe<CatalogFileShape>(
  toCatalog("CatalogFile", t.Object(CATALOG_PROVIDER, { additionalProperties: false })),
);
/** A `CatalogFile` with the secrets that it refers to. */
export const CatalogRequest = t.Unsafe<CatalogFileShape>(
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
  ),
);
