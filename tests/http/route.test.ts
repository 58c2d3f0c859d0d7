import { Type, type Static } from "@sinclair/typebox";
import { describe, expect, test } from "bun:test";
import { createBodyMemory } from "#http/door/body-memory.ts";
import { LOCAL_DOOR } from "#http/door/door.ts";
import { serveRoutes } from "#http/door/guard.ts";
import { json, route } from "#http/door/route.ts";
import type * as reports from "#http/schemas/reports.ts";
import type { toSeriesView } from "#stats/series.ts";
import type { toFacetsView, toRequestView } from "#views/reports.ts";

const Figure = Type.Object({ figure: Type.Number() }, { additionalProperties: false });
const declared = {
  method: "GET",
  path: "/figures/:id",
  tag: "Operation",
  access: "public",
  summary: "A figure",
  answer: json(200, Figure, { figure: 1 }),
} as const;

describe("what a route answers", () => {
  test("is an error of the type checker where it has another shape than the route declares", () => {
    route({ ...declared, run: async ({ params }) => ({ figure: params.id.length }) });
    // @ts-expect-error: the figure is a number
    route({ ...declared, run: () => ({ figure: "one" }) });
    // @ts-expect-error: a required field is missing
    route({ ...declared, run: () => ({}) });
    const created = { ...declared, answer: json(201, Figure, { figure: 1 }) } as const;
    route({ ...created, run: () => ({ figure: 1 }) });
    // @ts-expect-error: another status than 200 is held to its shape as well
    route({ ...created, run: () => ({ figure: "one" }) });
    // @ts-expect-error: a public route has no caller
    route({ ...declared, run: ({ caller }) => ({ figure: caller.principal.id.length }) });
    // @ts-expect-error: the path has no such parameter
    route({ ...declared, run: ({ params }) => ({ figure: params.name.length }) });
    // @ts-expect-error: a route tells who may call it
    route({ ...declared, access: undefined, run: () => ({ figure: 1 }) });
  });

  test("has the declared status and its own headers, and is neither validated nor changed on the way out", async () => {
    const wrong: any = { figure: "one", more: true };
    const answer = json(201, Figure, { figure: 1 });
    const made = route({
      ...declared,
      answer,
      run: ({ headers }) => {
        headers.etag = '"1"';
        return wrong;
      },
    });
    const memory = createBodyMemory({ bytesMax: 1000 });
    const app = serveRoutes([made], {
      door: LOCAL_DOOR,
      memory,
      maxBodyBytes: 1000,
      findRepricing: () => null,
      answerFailure: () => new Response(null, { status: 500 }),
    });
    const response = await app.handle(new Request("http://localhost/figures/1"));
    expect(response.status).toBe(201);
    expect(response.headers.get("etag")).toBe('"1"');
    expect(await response.json()).toEqual(wrong);
  });
});

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

/** Reports leave as typed responses, so that their handlers say nothing of what is in them. */
interface ByView {
  readonly series: readonly [ReturnType<typeof toSeriesView>, Static<typeof reports.UsageSeries>];
  readonly request: readonly [ReturnType<typeof toRequestView>, Static<typeof reports.RequestRow>];
  readonly facets: readonly [ReturnType<typeof toFacetsView>, Static<typeof reports.Facets>];
}

/** The type checker names here what differs. */
type Named<Names> = [Names] extends [never] ? "nothing" : Names;
const differing: Named<Differing<ByView>> = "nothing";

test("a report's view is what its schema says", () => {
  expect(differing).toBe("nothing");
});
