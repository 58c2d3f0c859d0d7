import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Route } from "#http/door/route.ts";
import { findEndpoint } from "#catalog/endpoint.ts";
import { listRoutes } from "#http/local.ts";
import { ID } from "#http/schemas/examples.ts";
import { expectError, startHarness, type Harness } from "./support.ts";

/** The data plane and the relay parse no body: they scan it. */
const ROUTES = listRoutes().filter(
  ({ body, access, method, path }) =>
    body !== undefined && access !== "relay" && findEndpoint(method, path) === null,
);

let harness: Harness;
let aliceId: string = ID.alice;
beforeAll(async () => {
  harness = await startHarness();
  // What the examples make is there, so that a body that passes its schema meets the rules behind it.
  for (const route of ROUTES.filter(({ method }) => method === "POST")) {
    await send(route, JSON.stringify(route.example));
  }
  aliceId = (await harness.deps.principals.getByName("alice")).id;
});
afterAll(() => harness.stop());
beforeEach(() => void harness.logLines.splice(0));

async function send({ method, path, params = {} }: Route, example: string): Promise<Response> {
  // The examples name real providers, which no test may ask.
  const body = example.replaceAll("https://api.openai.com", "http://127.0.0.1:9");
  const real = path.replaceAll(/:([a-z]+)/g, (_, name: string) => params[name]!).replace(ID.alice, aliceId);
  const headers = { authorization: `Bearer ${harness.adminKey}`, "content-type": "application/json" };
  return await harness.app.fetch(new Request(harness.url + real, { method, headers, body }), null);
}

/** Names that objects inherit: code that reads or calls them meets what was sent. */
const INHERITED = [
  "toString",
  "valueOf",
  "toJSON",
  "constructor",
  "prototype",
  "__proto__",
  "hasOwnProperty",
  "then",
  "length",
  "join",
];
const SCALARS = ["1", "null", "true", '"x"', "-0", "1e400", '"\\u0000"', '"\\ud800"', "[]", "{}"];

/** As text, since no literal of this language holds `__proto__` as a name like any other. */
const hostile = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...SCALARS),
    fc.array(tie("value"), { maxLength: 2 }).map((members) => `[${members.join()}]`),
    fc
      .array(fc.tuple(fc.constantFrom(...INHERITED), tie("value")), { minLength: 1, maxLength: 3 })
      .map((fields) => `{${fields.map(([name, value]) => `"${name}":${value}`).join()}}`),
  ),
})).value;

const MARK = "mark-of-the-place";

/** The example's body with the mark in place of each of its values, the whole one included, and as a further field. */
function mark(value: unknown): readonly unknown[] {
  if (typeof value !== "object" || value === null) return [MARK];
  const fields = Object.entries(value);
  const within = fields.flatMap(([name, member]) =>
    mark(member).map((marked) =>
      Array.isArray(value)
        ? value.with(Number(name), marked)
        : Object.fromEntries([...fields, [name, marked]]),
    ),
  );
  return Array.isArray(value) ? [MARK, ...within] : [MARK, ...within, { ...value, further: MARK }];
}

async function expectNoFailure(route: Route, body: string): Promise<void> {
  const response = await send(route, body);
  const text = await response.text();
  const told = { body, status: response.status, text };
  // A test of a provider asks it, and nothing listens at its address: the body itself was taken.
  const isUnreached =
    route.errors?.includes("provider_unreachable") === true && text.includes('"code":"provider_unreachable"');
  const failed = response.status >= 500 && !isUnreached;
  expect({ ...told, failed }).toEqual({ ...told, failed: false });
  if (response.status >= 400) {
    const { code } = JSON.parse(text).error;
    await expectError(new Response(text, response), `${response.status} ${code}`);
  }
}

describe("a body whose values are objects with the names that every object inherits", () => {
  test.each([
    '{"password":{"toString":1}}',
    '{"password":{"toString":1,"valueOf":1}}',
    '{"password":[[{"toString":null}]]}',
    '{"password":{"__proto__":{"toString":1}}}',
  ])("is 400 invalid_request where a text is needed, and not a failure of the server: %s", async (body) => {
    const route = ROUTES.find(({ path }) => path === "/auth/password")!;
    await expectError(await send(route, body), "400 invalid_request", "password");
    expect(harness.logLines.join("")).not.toContain("a request failed");
  });

  test.each(ROUTES.map((route) => [`${route.method} ${route.path}`, route] as const))(
    "never fails %s, wherever it stands, and changes no object of the server",
    async (_, route) => {
      const places = mark(route.example).map((body) => JSON.stringify(body));
      const body = fc
        .tuple(fc.constantFrom(...places), hostile)
        .map(([place, value]) => place.replace(JSON.stringify(MARK), () => value));
      await fc.assert(
        fc.asyncProperty(body, (text) => expectNoFailure(route, text)),
        { numRuns: 50 },
      );
      expect(Object.keys(Object.prototype)).toEqual([]);
      expect(harness.logLines.join("")).not.toContain("a request failed");
    },
  );
});
