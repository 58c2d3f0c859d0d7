import { Type, type Static } from "@sinclair/typebox";
import { describe, expect, test } from "bun:test";
import { Elysia } from "elysia";
import { createBodyMemory } from "#http/door/body-memory.ts";
import { LOCAL_DOOR } from "#http/door/door.ts";
import { createGuard } from "#http/door/guard.ts";
import { json, route, toRoutes } from "#http/door/route.ts";
import type * as reports from "#http/schemas/reports.ts";
import type { toSeriesView } from "#stats/series.ts";
import type { toFacetsView, toRequestView } from "#views/reports.ts";

const Figure = Type.Object({ figure: Type.Number() }, { additionalProperties: false });
const declaration = {
  access: "public",
  summary: "A figure",
  answer: json(200, Figure, { figure: 1 }),
} as const;

const controller = (tags = ["Operation"]) =>
  new Elysia({ normalize: false, tags }).use(
    createGuard(LOCAL_DOOR, 1000, createBodyMemory({ bytesMax: 1000 })),
  );

describe("a route", () => {
  test("is told by its own declaration: nothing else is asked for its access, shapes and errors", () => {
    const { routes } = controller().get("/figure", () => ({ figure: 1 }), route(declaration));
    expect(toRoutes(routes)).toEqual([{ method: "GET", path: "/figure", tag: "Operation", ...declaration }]);
  });

  test("that declares nothing does not start", () => {
    const { routes } = controller()
      .get("/figure", () => ({ figure: 1 }), route(declaration))
      .post("/forgotten", () => "?");
    expect(() => toRoutes(routes)).toThrow("POST /forgotten does not declare who may call it");
  });

  test("whose declaration was not made by `route` counts as undeclared", () => {
    const detail = { summary: "x", "x-declaration": { ...declaration, access: "everybody" } };
    const { routes } = controller().get("/x", () => "?", { detail });
    expect(() => toRoutes(routes)).toThrow("GET /x does not declare who may call it");
  });

  test("that belongs to no part of the documentation does not start", () => {
    const { routes } = controller(["Drawer"]).get("/figure", () => ({ figure: 1 }), route(declaration));
    expect(() => toRoutes(routes)).toThrow("GET /figure belongs to no part of the documentation");
  });
});

describe("a handler", () => {
  test("that returns another shape than its route declares is an error of the type checker", () => {
    // @ts-expect-error: the figure is a number
    controller().get("/figure", () => ({ figure: "one" }), route(declaration));
    // @ts-expect-error: a required field is missing
    controller().get("/figure", () => ({}), route(declaration));
    const created = { ...declaration, answer: json(201, Figure, { figure: 1 }) };
    controller().get("/figure", ({ status }) => status(201, { figure: 1 }), route(created));
    // @ts-expect-error: another status than 200 is held to its shape as well
    controller().get("/figure", ({ status }) => status(201, { figure: "one" }), route(created));
    // @ts-expect-error: a public route has no caller
    controller().get("/figure", ({ caller }) => ({ figure: caller.principal.id.length }), route(declaration));
  });

  test("has its answer neither validated nor changed on the way out", async () => {
    const wrong: any = { figure: "one", more: true };
    const app = controller().get("/figure", () => wrong, route(declaration));
    const response = await app.handle(new Request("http://localhost/figure"));
    expect(response.status).toBe(200);
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
