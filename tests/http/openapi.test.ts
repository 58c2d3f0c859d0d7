import { Validator } from "@seriousme/openapi-schema-validator";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { ID, MODEL, PROVIDER, LOGIN_TOKEN, SINCE } from "#http/schemas/examples.ts";
import type { Route } from "#http/door/route.ts";
import { toErrorCodes } from "#http/openapi/document.ts";
import { ERROR_STATUS, type ErrorCode } from "#kernel/errors.ts";
import { INTERFACE_VERSION } from "#kernel/version.ts";
import { startApp, type TestApp } from "../support/app.ts";
import { createBrowser } from "../support/browser.ts";
import {
  CLIENT_ID,
  CLIENT_SECRET,
  passProvider,
  startIdentityProvider,
  type IdentityProvider,
} from "../support/identity-provider.ts";
import { until } from "../support/waiting.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";
import { findFaults, openApi, ROUTES } from "./openapi-reader.ts";
import { createReplay, findOperation, inOrderOfALife, nameOf, stepsOf } from "./openapi-replay.ts";
import { call as send, startHarness, type Harness } from "./support.ts";

const JSON_TYPE = "application/json";
const TEST_MS_MAX = 30_000;
const RECENT_MS = 10 * 86_400_000;
/** What an upstream says is its own, and the document is not described in itself. */
const isForeign = ({ path, upstreamErrorHeaders }: Route) =>
  upstreamErrorHeaders !== undefined || path === "/openapi.json";

describe("the document", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness.stop());

  test("is valid OpenAPI 3.1 of the interface's version, and anybody may read it", async () => {
    const response = await send(harness, "GET", "/openapi.json", { headers: {} });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe(JSON_TYPE);
    const document = await response.json();
    expect(document).toEqual(openApi);
    expect(document.info.version).toBe(INTERFACE_VERSION);
    const validator = new Validator();
    expect(await validator.validate(document)).toEqual({ valid: true });
    expect(validator.version).toBe("3.1");
  });

  test("has every route that is served with the access that it asks for, no other, and every error code there is", () => {
    const served = harness.routes.map((route) => `${nameOf(route)} ${route.access}`);
    const told = ROUTES.map((operation) => `${nameOf(operation)} ${findOperation(operation)["x-access"]}`);
    expect(told).toEqual(served);
    const codes = new Set(ROUTES.flatMap(toErrorCodes));
    expect(Object.keys(ERROR_STATUS).filter((code) => !codes.has(code as ErrorCode))).toEqual([
      // A WebSocket is refused with it, and is asked for by no POST.
      "upgrade_not_supported",
    ]);
    const ids = ROUTES.map((operation) => findOperation(operation).operationId);
    expect(new Set(ids).size).toBe(ROUTES.length);
  });

  test("lets no object of an answer have a field that it does not name", () => {
    const open: string[] = [];
    const visit = (schema: any, where: string): void => {
      if (typeof schema !== "object" || schema === null) return;
      if (schema.$ref !== undefined) return visit(resolve(schema.$ref), `${where} ${schema.$ref}`);
      if (schema.type === "object" && schema.additionalProperties !== false) open.push(where);
      for (const [key, value] of Object.entries(schema)) visit(value, `${where} ${key}`);
    };
    for (const operation of ROUTES.filter((each) => !isForeign(each))) {
      for (const [status, response] of Object.entries<any>(findOperation(operation).responses)) {
        visit(response.content?.[JSON_TYPE]?.schema, `${nameOf(operation)} ${status}`);
      }
    }
    expect(open).toEqual([]);
  });

  test("has an example of each JSON body, and each is what its schema says", () => {
    for (const operation of ROUTES) {
      const { requestBody, responses } = findOperation(operation);
      const steps = stepsOf(operation);
      const faults: string[] = [];
      const check = (media: any, ...rest: readonly string[]) => {
        if (media.example === undefined) faults.push(`no example of ${rest.join(" ")}`);
        else faults.push(...findFaults(media.example, ...steps, ...rest, "content", JSON_TYPE, "schema"));
      };
      if (requestBody?.content[JSON_TYPE] !== undefined) check(requestBody.content[JSON_TYPE], "requestBody");
      for (const [status, { content }] of Object.entries<any>(responses)) {
        const media = content?.[JSON_TYPE];
        if (media === undefined || status === "default" || operation.path === "/openapi.json") continue;
        check(media, "responses", status);
      }
      expect({ of: nameOf(operation), faults }).toEqual({ of: nameOf(operation), faults: [] });
    }
    for (const { value } of Object.values<any>(openApi.components.examples)) {
      expect(findFaults(value, "components", "schemas", "Error")).toEqual([]);
    }
  });
});

describe("the document's examples, sent to a server", () => {
  let upstream: ScriptedUpstream;
  let provider: IdentityProvider;
  let app: TestApp;
  beforeEach(async () => {
    upstream = await startUpstream({ script: answer });
    provider = await startIdentityProvider();
    app = await startApp({
      messagesBaseUrl: new URL(upstream.baseUrl).origin,
      notices: { url: `${upstream.baseUrl}/webhook`, secret: null },
      oidc: {
        issuer: provider.issuer,
        clientId: CLIENT_ID,
        clientSecret: CLIENT_SECRET,
        scopes: "openid profile email",
        requiredGroup: null,
        adminGroup: null,
        groupsClaim: "groups",
      },
    });
    provider.serve({
      redirectUri: `${app.url}/auth/callback`,
      accounts: { jane: { preferred_username: "jane" } },
    });
  });
  afterEach(async () => {
    await app.stop();
    await provider.stop();
    await upstream.stop();
  });

  /** Sends all of them in the order of an installation's life; returns which. */
  async function playLife(): Promise<readonly string[]> {
    const replay = createReplay(app, upstream.baseUrl);
    replay.real.set(LOGIN_TOKEN, await app.makeLoginToken());
    // From the document's own day on a series by day is too long in some years.
    replay.real.set(SINCE, new Date(Date.now() - RECENT_MS).toISOString().slice(0, 10));
    const replayed: string[] = [];
    for (const operation of inOrderOfALife()) {
      // A second token, for the routes that change one of somebody else.
      if (nameOf(operation) === "PATCH /admin/v1/relay-tokens/:id") {
        const made = await app.api("POST", "/my/relay-tokens", {});
        replay.real.set(ID.aliceToken, ((await made.json()) as any).id);
      }
      if (nameOf(operation) === "GET /admin/v1/pricing/schedule") {
        const entry = { model: "later", unit: "input_tokens", price_per_million: 1 };
        const entries = [{ ...entry, effective_from: "2999-01-01" }];
        await app.api("POST", "/admin/v1/pricing", { version: "later", entries });
      }
      if (operation.path.endsWith("/restore-credential"))
        await app.api("PATCH", `/admin/v1/providers/${PROVIDER.name}`, { api_key: "sk-another" });
      if (nameOf(operation) === "GET /my/usage") await usageIsVisible(app);
      if (nameOf(operation) === "GET /my/requests/:id") {
        const completion = await app.api("POST", "/v1/chat/completions", {
          model: MODEL.alias,
          messages: [],
        });
        replay.real.set(ID.request, completion.headers.get("x-proxy-request-id") ?? "");
      }
      if (operation.path.startsWith("/admin/v1/repricing/:id/")) await repricingRests(app);
      // There is one for each path that deletes one.
      if (nameOf(operation).startsWith("DELETE") && operation.path.endsWith("/responses/:id"))
        await (await app.api("POST", "/v1/responses", { model: MODEL.alias })).text();
      // Its success needs a browser that comes from the identity provider.
      if (operation.path === "/auth/callback") continue;
      for (const type of typesOf(operation)) {
        const streams = type === "text/event-stream";
        const response = await replay.send(
          operation,
          type === null ? {} : { accept: type },
          streams ? { stream: true } : {},
        );
        const body = await expectAsTold(operation, response, type);
        const example = operation.answer.contents[0]?.example;
        if (operation.method === "POST" && !isForeign(operation)) replay.learn(example, body);
        if (nameOf(operation) === "GET /stats/requests" && type === JSON_TYPE)
          replay.real.set(ID.request, (body as any).requests[0].id);
      }
      replayed.push(nameOf(operation));
    }
    return replayed;
  }

  test(
    "are answered as the document says: by status, headers, type and shape, in every form that it names",
    async () => {
      expect(await playLife()).toHaveLength(ROUTES.length - 1);

      const callback = ROUTES.find(({ path }) => path === "/auth/callback")!;
      const browser = createBrowser();
      const login = await browser.visit(`${app.url}/auth/login`);
      const back = await browser.visit(await passProvider(browser, login.location!, "jane"));
      await expectAsTold(callback, back.response, null, back.text);
    },
    TEST_MS_MAX,
  );

  test(
    "reports and lists that were validated had rows",
    async () => {
      await playLife();
      for (const [path, name] of [
        ["/my/usage", "usage"],
        ["/my/usage/series", "series"],
        ["/stats/summary", "usage"],
        ["/stats/series", "series"],
        ["/stats/errors", "breakdown"],
        ["/stats/breakdown", "rows"],
        ["/stats/requests", "requests"],
        ["/stats/requests/facets", "keys"],
        ["/admin/v1/usage/summary", "usage"],
        ["/admin/v1/events", "events"],
      ] as const) {
        const report: any = await (await app.api("GET", path)).json();
        expect({ path, count: report[name].length > 0 }).toEqual({ path, count: true });
      }
    },
    TEST_MS_MAX,
  );
});

/** What is planned can be applied, and what is applied can be taken back. */
async function repricingRests(app: TestApp): Promise<void> {
  await until(
    async () => {
      const { repricings }: any = await (await app.api("GET", "/admin/v1/repricing")).json();
      return repricings[0].total !== null && ["planned", "applied"].includes(repricings[0].state);
    },
    () => "the re-pricing rests",
  );
}

/** Every form of an answer that can be asked for; null where it has no body. */
function typesOf({ answer: { contents }, path, method }: Route): readonly (string | null)[] {
  const types = contents.map(({ type }) => type);
  if (types.length === 0) return [null];
  // One method of the relay is enough: the others have no body that could say so.
  return path.startsWith("/transparent") && method !== "POST"
    ? types.filter((type) => type !== "text/event-stream")
    : types;
}

/** Returns the body of a JSON answer. */
async function expectAsTold(
  operation: Route,
  response: Response,
  type: string | null,
  text?: string,
): Promise<unknown> {
  const expectedStatus = operation.answer.status;
  const body = text ?? (await response.text());
  const told = findOperation(operation).responses[String(response.status)];
  expect({
    of: nameOf(operation),
    status: response.status,
    refusal: response.status === expectedStatus ? "" : body,
  }).toEqual({ of: nameOf(operation), status: expectedStatus, refusal: "" });
  const contentType = response.headers.get("content-type")?.split(";")[0] ?? null;
  if (type !== null)
    expect({ of: nameOf(operation), contentType }).toEqual({ of: nameOf(operation), contentType: type });
  else if (operation.method !== "HEAD") expect(body).toBe("");
  for (const header of Object.keys(told.headers ?? {})) {
    // Notes of a report are there only when there is something to say, and a cost where everything has a price.
    if (["x-proxy-window", "x-proxy-truncated", "x-proxy-repricing", "x-proxy-cost"].includes(header))
      continue;
    expect({ of: nameOf(operation), header, there: response.headers.has(header) }).toEqual({
      of: nameOf(operation),
      header,
      there: true,
    });
  }
  if (type !== JSON_TYPE) return undefined;
  const json = JSON.parse(body);
  const place = [...stepsOf(operation), "responses", String(response.status), "content", JSON_TYPE, "schema"];
  expect({ of: nameOf(operation), faults: findFaults(json, ...place) }).toEqual({
    of: nameOf(operation),
    faults: [],
  });
  return json;
}

/** The answer of any upstream of the examples. */
async function answer(call: UpstreamCall): Promise<void> {
  const { method, target, headers } = call.request;
  const usage = { prompt_tokens: 9, completion_tokens: 2 };
  if (method === "HEAD") await call.reply({});
  else if (target.endsWith("/models")) {
    await call.reply({ body: JSON.stringify({ data: [{ id: "gpt-5" }, { id: "gpt-5-mini" }] }) });
  } else if (headers.get("accept") === "text/event-stream") {
    await call.beginStream();
    await call.sendChunk(`data: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`);
    await call.endStream();
  } else if (target.endsWith("/audio/speech")) {
    await call.reply({ body: "audio", headers: ["content-type: audio/mpeg"] });
  } else if (target.endsWith("/responses")) {
    await call.reply({ body: JSON.stringify({ id: "resp_1", object: "response", status: "completed" }) });
  } else await call.reply({ body: JSON.stringify({ usage }) });
}

/** Reports are read from what the ledger has taken over, a moment after a response ends. */
async function usageIsVisible(app: TestApp): Promise<void> {
  for (const startedMs = performance.now(); performance.now() - startedMs < 5_000;) {
    const { total } = (await (await app.api("GET", "/stats/requests")).json()) as any;
    if (total > 0) return;
  }
  throw new Error("no usage was recorded");
}

function resolve(ref: string): unknown {
  return ref
    .split("/")
    .slice(1)
    .reduce((place: any, step) => place[step], openApi);
}
