import { Type, type Static, type TSchema } from "@sinclair/typebox";
import { describe, expect, test } from "bun:test";
import type { Api } from "#http/app.ts";
import { OPERATIONS } from "#http/openapi/operations.ts";
import * as catalog from "#http/schemas/catalog.ts";
import * as identity from "#http/schemas/identity.ts";
import * as reports from "#http/schemas/reports.ts";
import { Deleted, fields, listOf, pageOf } from "#http/schemas/shared.ts";
import type { toSeriesView } from "#stats/series.ts";
import type { toFacetsView, toRequestView } from "#views/reports.ts";

/**
 * An answer is described twice: by the type that its handler infers, which the page's client is made of, and by the schema
 * that the document shows. A difference between the two is an error of the type checker in this file.
 */
const ANSWERS = {
  "GET /auth/me": identity.Me,
  "POST /auth/password": identity.SignedIn,
  "POST /auth/login-link": identity.SignedIn,
  "GET /v1/models": catalog.ModelList,
  "GET /my/keys": listOf("keys", identity.KeyView),
  "POST /my/keys": identity.KeyCreated,
  "DELETE /my/keys/:id": Deleted,
  "GET /my/relay-tokens": listOf("relay_tokens", identity.RelayTokenView),
  "POST /my/relay-tokens": identity.RelayTokenCreated,
  "DELETE /my/relay-tokens/:id": Deleted,
  "GET /my/usage": reports.OwnUsage,
  "GET /my/usage/series": reports.GroupedUsageSeries,
  "GET /stats/series": reports.GroupedUsageSeries,
  "GET /stats/summary": reports.TeamUsage,
  "GET /stats/requests": reports.RequestPage,
  "GET /stats/requests/facets": reports.Facets,
  "GET /stats/errors": reports.ErrorsReport,
  "GET /admin/v1/providers": pageOf("providers", catalog.ProviderListEntry),
  "POST /admin/v1/providers": catalog.ProviderView,
  "GET /admin/v1/providers/:name": catalog.ProviderView,
  "PATCH /admin/v1/providers/:name": catalog.ProviderView,
  "DELETE /admin/v1/providers/:name": Deleted,
  "GET /admin/v1/providers/:name/discover": catalog.DiscoveredModels,
  "GET /admin/v1/models": pageOf("models", catalog.ModelView),
  "POST /admin/v1/models": catalog.ModelView,
  "PATCH /admin/v1/models/:alias": catalog.ModelView,
  "DELETE /admin/v1/models/:alias": Deleted,
  "GET /admin/v1/resolve": catalog.ResolveResult,
  "POST /admin/v1/pricing": catalog.PricingLoad,
  "GET /admin/v1/pricing": catalog.PricingList,
  "GET /admin/v1/principals": pageOf("principals", identity.PrincipalListEntry),
  "POST /admin/v1/principals": identity.PrincipalView,
  "PATCH /admin/v1/principals/:id": identity.PrincipalChanged,
  "DELETE /admin/v1/principals/:id": Deleted,
  "POST /admin/v1/principals/:id/revoke-sessions": identity.SessionsRevoked,
  "GET /admin/v1/keys": pageOf("keys", identity.AdminKeyView),
  "POST /admin/v1/keys": identity.AdminKeyCreated,
  "DELETE /admin/v1/keys/:id": Deleted,
  "GET /admin/v1/relay-tokens": pageOf("relay_tokens", identity.AdminRelayTokenView),
  "DELETE /admin/v1/relay-tokens/:id": Deleted,
  "GET /admin/v1/events": pageOf("events", identity.AdminEvent),
  "GET /admin/v1/requests": reports.RequestPage,
  "GET /admin/v1/usage/summary": reports.UsageByPrincipal,
  "GET /admin/v1/usage/series": reports.UsageSeries,
  "POST /model/new": catalog.ModelDeployment,
  "GET /model/info": catalog.ModelDeploymentList,
  "POST /model/delete": Deleted,
  "GET /healthz": fields({ status: Type.Literal("ok") }),
} as const;

type Routes = Api["~Routes"];
type Answers = typeof ANSWERS;

/** What the handler of `GET /my/keys` infers: the type at my → keys → get. */
type Inferred<Route> = Route extends `${infer Method} /${infer Path}`
  ? Found<Step<Routes, Path>, Lowercase<Method>>
  : never;
type Step<Tree, Path> = Path extends `${infer Head}/${infer Rest}`
  ? Head extends keyof Tree
    ? Step<Tree[Head], Rest>
    : never
  : Path extends keyof Tree
    ? Tree[Path]
    : never;
type Found<Tree, Method> = Method extends keyof Tree
  ? Tree[Method] extends { response: infer Answered }
    ? Answered[Extract<keyof Answered, 200 | 201>]
    : never
  : never;

/** Read-only or not, and made of one object type or of several, is the same JSON. */
type Plain<Value> = Value extends readonly (infer Row)[]
  ? Plain<Row>[]
  : Value extends object
    ? { -readonly [field in keyof Value]: Plain<Value[field]> }
    : Value;
// Only in this form are an optional field more, and a wider word, a difference.
/* oxlint-disable typescript/no-unnecessary-type-parameters */
type IsSame<Left, Right> =
  (<Probe>() => Probe extends Left ? 1 : 2) extends <Probe>() => Probe extends Right ? 1 : 2 ? true : false;
/* oxlint-enable typescript/no-unnecessary-type-parameters */
type Differing<Pairs> = {
  [name in keyof Pairs]: Pairs[name] extends readonly [infer Left, infer Right]
    ? IsSame<Plain<Left>, Plain<Right>> extends true
      ? never
      : name
    : name;
}[keyof Pairs];
type SchemaType<Schema> = Schema extends TSchema ? Static<Schema> : never;

type ByRoute = { [route in keyof Answers]: readonly [Inferred<route>, SchemaType<Answers[route]>] };
/** Reports leave as ready responses, so that their handlers say nothing of what is in them. */
interface ByView {
  readonly series: readonly [ReturnType<typeof toSeriesView>, Static<typeof reports.UsageSeries>];
  readonly request: readonly [ReturnType<typeof toRequestView>, Static<typeof reports.RequestRow>];
  readonly facets: readonly [ReturnType<typeof toFacetsView>, Static<typeof reports.Facets>];
}

/** The type checker names here what differs. */
type Named<Names> = [Names] extends [never] ? "nothing" : Names;
const differing: Named<Differing<ByRoute & ByView>> = "nothing";

describe("what the document says of an answer", () => {
  test("is the type that its handler infers, for every route that answers JSON of its own", () => {
    const own = OPERATIONS.filter(
      ({ path, access, answers }) =>
        access !== "relay" &&
        // An upstream's own, the document itself, and the list that is a page for a browser.
        !/completions$|embeddings$|openapi|^\/models$/.test(path) &&
        answers.some(({ contents }) => contents.some(({ type }) => type === "application/json")),
    );
    expect(Object.keys(ANSWERS).sort()).toEqual(own.map(({ method, path }) => `${method} ${path}`).sort());
    for (const [route, schema] of Object.entries(ANSWERS)) {
      const operation = own.find(({ method, path }) => `${method} ${path}` === route);
      const shown = operation?.answers.flatMap(({ contents }) =>
        contents.filter(({ type }) => type === "application/json").map((content) => content.schema),
      );
      expect({ route, shown }).toEqual({ route, shown: [schema] });
    }
    expect(differing).toBe("nothing");
  });
});
