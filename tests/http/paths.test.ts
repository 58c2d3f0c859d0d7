import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createPathIndex } from "#http/door/unknown-endpoint.ts";
import { call, expectError, sendRaw, startHarness, toResponse, type Harness } from "./support.ts";

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.stop());

const UNKNOWN = ["404 unknown_endpoint", null] as const;

describe("an unknown path", () => {
  test.each([
    "/v1",
    "/v1/",
    "/v1/nope",
    "/my",
    "/my/nope",
    "/stats/nope",
    "/admin",
    "/admin/v1/nope",
    "/auth/nope",
    "/model/nope",
    "/transparent/nope",
  ])(
    "under a prefix of the interface is 404 before any question of credentials, never a page: %s",
    async (path) => {
      for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
        await expectError(await call(harness, method, path, { headers: {} }), ...UNKNOWN);
      }
    },
  );

  test.each(["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])(
    "elsewhere is 404 for %s, and a page only for GET and HEAD",
    async (method) => {
      await expectError(await call(harness, method, "/overview", { headers: {} }), ...UNKNOWN);
      const page = await call(harness, "GET", "/overview", { headers: {} });
      expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
      const head = await call(harness, "HEAD", "/overview", { headers: {} });
      expect([head.status, await head.text()]).toEqual([200, ""]);
    },
  );

  test.each([
    ["GET", "/v1/chat/completions", "This path answers POST only."],
    ["GET", "/chat/completions", "This path answers POST only."],
    ["DELETE", "/v1/models", "This path answers GET only."],
    ["PUT", "/admin/v1/providers/x", "This path answers DELETE, GET, PATCH only."],
    ["POST", "/healthz", "This path answers GET only."],
    ["GET", "/auth/password", "This path answers POST only."],
    ["POST", "/v1/responses", "not supported"],
    ["POST", "/responses", "not supported"],
    ["POST", "/v1/audio/speech", "lockport model set NAME --add-capability speech"],
    ["POST", "/v1/audio/voices", "There is no such endpoint under /v1/audio."],
    ["POST", "/v1/audio/voices", "--add-capability transcription` opens POST /v1/audio/transcriptions."],
    ["POST", "/v1/audio/voices", "Served are POST /v1/chat/completions"],
    ["POST", "/v1/messages/batches", "--add-capability messages` opens POST /v1/messages."],
    ["POST", "/v1/images/variations", "Served are POST /v1/chat/completions"],
    ["POST", "/v1/rerank", "--add-capability rerank"],
    ["POST", "/v2/rerank", "--add-capability rerank"],
    ...["files", "batches", "conversations", "vector_stores", "videos", "realtime"].map(
      (part) => ["GET", `/v1/${part}`, `/v1/${part} are not supported. Served are POST /v1/chat`] as const,
    ),
    ["GET", "/v1/models/gpt", "GET /v1/models lists the models"],
    ["GET", "/v1/models/org/gpt", "GET /v1/models lists the models"],
    ["DELETE", "/models/gpt", "GET /v1/models lists the models"],
    ["GET", "/model/new", "This path answers POST only."],
    ["POST", "/model/info", "This path answers GET only."],
    ["POST", "/admin/v1/providers/x/discover", "This path answers GET only."],
    ["POST", "/admin/providers", "/admin/v1"],
    ["PATCH", "/admin/v1/models/a/b", "%2F"],
    ["POST", "/v1/messages", "/transparent/messages/"],
    ["POST", "/v1/messages", "lockport model set NAME --add-capability messages"],
    ["POST", "/messages/count_tokens", "/transparent/messages/"],
    // A base URL that is too short, too long, or was doubled.
    ["POST", "/chat", "POST /v1/chat/completions is one."],
    ["GET", "/v1/chat", "POST /v1/chat/completions is one."],
    ["GET", "/v1", "POST /v1/chat/completions is one."],
    ["POST", "/v1/v1/chat/completions", "a /v1 too many"],
    ["GET", "/v1/healthz", "a /v1 too many"],
    ["GET", "/v1/model/info", "a /v1 too many"],
    ["POST", "/v1/chat/completions/chat/completions", "the base URL"],
    ["POST", "/openai/deployments/x/chat/completions", "the base URL"],
    ["POST", "/api/v1/embeddings", "the base URL"],
    ["POST", "/v1/chat/completions/", "a slash too many"],
    ["GET", "/v1/models/", "a slash too many"],
    // A path that only ends like one of the dialect's is told nothing of base URLs.
    ["POST", "/admin/v1/x/models", "There is no such endpoint."],
    ["POST", "/my/nope/embeddings", "There is no such endpoint."],
    ["POST", "/nope", "There is no such endpoint."],
  ])("%s %s says what is wrong: %s", async (method, path, hint) => {
    expect(await expectError(await call(harness, method, path), ...UNKNOWN)).toContain(hint);
  });

  test.each(["POST //v1/embeddings", "GET //v1/models", "GET ///admin/v1/providers", "GET /v1//models"])(
    "%s, as of a base URL with a slash at its end, has a slash too many and is no page",
    async (line) => {
      const raw = await sendRaw(
        harness.port,
        `${line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
      );
      expect(await expectError(toResponse(raw), ...UNKNOWN)).toContain("a slash too many");
    },
  );

  test.each(["/v1/responses", "/responses", "/v1/responses/resp_1", "/v1/responses/resp_1/input_items"])(
    "%s tells clients that take the Responses API for granted how to use chat completions",
    async (path) => {
      const message = await expectError(await call(harness, "POST", path), ...UNKNOWN);
      for (const word of [
        "/v1/responses",
        "not supported",
        "--add-capability responses",
        "use chat completions",
        "lockport snippet",
      ]) {
        expect(message).toContain(word);
      }
      // One client's way is none for the others.
      expect(message).not.toMatch(/Vercel|AI SDK|openai\.|LangChain/);
    },
  );

  test("a path that only lacks the /v1 prefix is told so", () => {
    const index = createPathIndex([{ method: "POST", path: "/v1/things/:id" }], () => new Set());
    expect(index.toUnknownEndpoint("/things/1").message).toContain("/v1 prefix");
    expect(index.toUnknownEndpoint("/things/").message).not.toContain("/v1 prefix");
  });

  test("the answer repeats nothing of the path, the query or the body", async () => {
    for (const path of [
      "/v1/<script>alert(1)</script>",
      "/v1/secret-word?key=secret-word",
      "/admin/v1/secret-word",
    ]) {
      const response = await call(harness, "POST", path, { body: "secret-word" });
      const message = await expectError(response, ...UNKNOWN);
      expect(message).not.toMatch(/secret-word|script/);
    }
  });

  test("a trailing slash, another case and a doubled slash inside make another path", async () => {
    for (const path of ["/v1/models/", "/V1/models/x", "/admin/v1//providers", "/admin/v1/providers/"]) {
      const response = await call(harness, "GET", path);
      expect({
        path,
        json: (response.headers.get("content-type") ?? "").includes("json") && response.status === 200,
      }).toEqual({
        path,
        json: false,
      });
    }
  });

  test.each(["/admin/v1/providers/%zz", "/admin/v1/models/%", "/my/keys/%ff", "/%c3%28"])(
    "%s decodes to no text and is 404, never 500",
    async (path) => {
      for (const method of ["GET", "DELETE", "PATCH"]) {
        const raw = await sendRaw(
          harness.port,
          `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\nAuthorization: Bearer ${harness.adminKey}\r\n\r\n`,
        );
        await expectError(toResponse(raw), ...UNKNOWN);
      }
    },
  );

  test("dot segments lead to the path that they mean, and are asked for its credential", async () => {
    const send = async (target: string, authorization: string) =>
      toResponse(
        await sendRaw(
          harness.port,
          `GET ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${authorization}\r\n\r\n`,
        ),
      );
    for (const target of [
      "/v1/../admin/v1/providers",
      "/healthz/%2e%2e/admin/v1/providers",
      "/.//../admin/v1/providers",
    ]) {
      await expectError(await send(target, "X-None: 1"), "401 missing_api_key");
      expect((await send(target, `Authorization: Bearer ${harness.adminKey}`)).status).toBe(200);
    }
  });

  test("another spelling of a path of the data plane is served alike, and asked for a credential", async () => {
    const send = async (target: string, authorization: string) =>
      toResponse(
        await sendRaw(
          harness.port,
          `POST ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 2\r\n${authorization}\r\n\r\n{}`,
        ),
      );
    for (const target of ["/v1/./chat/completions", "/x/../embeddings", "/v1/completions?x=1"]) {
      expect((await send(target, `Authorization: Bearer ${harness.adminKey}`)).status).toBe(200);
      await expectError(await send(target, "X-None: 1"), "401 missing_api_key");
    }
  });
});

describe("an unusual method", () => {
  test.each(["TRACE", "CONNECT", "PROPFIND", "LINK"])(
    "%s reaches nothing and breaks nothing",
    async (method) => {
      for (const target of ["/v1/models", "/admin/v1/providers", "localhost:443", "/"]) {
        const raw = await sendRaw(
          harness.port,
          `${method} ${target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`,
        );
        if (raw !== "" && !raw.startsWith("HTTP/1.1 400")) await expectError(toResponse(raw), ...UNKNOWN);
      }
      expect((await call(harness, "GET", "/healthz")).status).toBe(200);
    },
  );

  test("OPTIONS is 404 on every route and allows no other origin", async () => {
    for (const { path, access } of harness.routes) {
      // The relay's answer is its upstream's to say.
      if (access === "relay") continue;
      const response = await call(harness, "OPTIONS", path.replaceAll(/:[a-z]+/g, "x").replace("*", ""), {
        headers: { origin: "http://localhost:9", "access-control-request-method": "POST" },
      });
      expect([...response.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
      await expectError(response, ...UNKNOWN);
    }
  });

  test("HEAD is answered as GET is, with its headers and without its body", async () => {
    for (const path of ["/healthz", "/v1/models", "/admin/v1/providers", "/auth/me", "/", "/v1/nope"]) {
      const get = await call(harness, "GET", path);
      const head = await call(harness, "HEAD", path);
      expect({ path, status: head.status, body: await head.text() }).toEqual({
        path,
        status: get.status,
        body: "",
      });
      const length = (await get.arrayBuffer()).byteLength;
      expect({ path, length: head.headers.get("content-length") }).toEqual({ path, length: String(length) });
      for (const name of ["content-type", "cache-control", "x-proxy-error-source"]) {
        expect(head.headers.get(name)).toBe(get.headers.get(name));
      }
    }
  });
});

describe("headers of ours", () => {
  test("every answer forbids sniffing and referrers", async () => {
    for (const path of [
      "/healthz",
      "/metrics",
      "/v1/models",
      "/",
      "/auth/me",
      "/admin/v1/events",
      "/v1/nope",
    ]) {
      const { headers } = await call(harness, "GET", path);
      expect([path, headers.get("x-content-type-options"), headers.get("referrer-policy")]).toEqual([
        path,
        "nosniff",
        "no-referrer",
      ]);
    }
  });

  test("nothing under /auth, /my and /admin is kept by a cache, refusals and reveals included", async () => {
    for (const [method, path] of [
      ["GET", "/auth/me"],
      ["GET", "/auth/logout"],
      ["GET", "/my/keys"],
      ["POST", "/my/keys"],
      ["GET", "/admin/v1/providers"],
      ["GET", "/admin/v1/nope"],
    ] as const) {
      const response = await call(harness, method, path);
      expect([path, response.headers.get("cache-control")]).toEqual([path, "no-store"]);
    }
  });
});

describe("operation", () => {
  test("GET /metrics is the text exposition of format 0.0.4, without a credential", async () => {
    const response = await call(harness, "GET", "/metrics", { headers: {} });
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await response.text();
    expect(text).toEndWith("\n");
    for (const line of text.trimEnd().split("\n")) {
      expect(line).toMatch(/^(# (HELP|TYPE) [a-z_]+ .+|[a-z_]+(\{.+\})? [0-9.]+)$/);
    }
    expect(text).toContain("process_resident_memory_bytes ");
  });
});
