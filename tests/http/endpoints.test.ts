import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { startApp, type TestApp } from "../support/app.ts";
import { startUpstream, type ScriptedUpstream, type UpstreamCall } from "../support/upstream.ts";
import { until } from "../support/waiting.ts";
import { expectError, sendRaw, toResponse } from "./support.ts";

/** The rows of the specification's table that take a body, told a second time on purpose. */
const ROWS = [
  { name: "transcription", path: "/audio/transcriptions", capability: "transcription", form: true },
  { name: "translation", path: "/audio/translations", capability: "transcription", form: true },
  { name: "responses", path: "/responses", capability: "responses" },
  { name: "responses/compact", path: "/responses/compact", capability: "responses" },
  { name: "responses/input_tokens", path: "/responses/input_tokens", capability: "responses" },
  { name: "messages", path: "/messages", capability: "messages" },
  { name: "messages/count_tokens", path: "/messages/count_tokens", capability: "messages" },
  { name: "speech", path: "/audio/speech", capability: "speech" },
  { name: "images", path: "/images/generations", capability: "images" },
  { name: "images/edits", path: "/images/edits", capability: "images" },
  { name: "moderation", path: "/moderations", capability: "moderation" },
  { name: "rerank", path: "/rerank", capability: "rerank", also: ["/v2/rerank"] },
] as const;
const CAPABILITIES = [...new Set(ROWS.map(({ capability }) => capability))];

/** A form as SDKs make it, and as it has to arrive: nothing is changed but the model. */
function toForm(model: string): string {
  const parts = [
    'name="file"; filename="a.wav"\r\ncontent-type: audio/wav\r\n\r\n\0\xff model \r\n--other',
    `name="model"\r\n\r\n${model}`,
    'name="stream_options"\r\n\r\n{"a":1}',
  ];
  return `${parts.map((part) => `--cut\r\ncontent-disposition: form-data; ${part}\r\n`).join("")}--cut--\r\n`;
}
const FORM_TYPE = "multipart/form-data; boundary=cut";
const toJson = (model: string) => `{"x": 1.0, "model":"${model}","stream_options":{"a":1},"input":[1,2]}`;
/** The bodies that a row is asked with: images are edited either way. */
const bodiesOf = (row: (typeof ROWS)[number]) => [
  ...("form" in row ? [] : [{ type: "application/json", of: toJson }]),
  ...("form" in row || row.name === "images/edits" ? [{ type: FORM_TYPE, of: toForm }] : []),
];

const pathsOf = (row: (typeof ROWS)[number]) => [
  `/v1${row.path}`,
  row.path,
  ...("also" in row ? row.also : []),
];

let upstream: ScriptedUpstream;
let app: TestApp;
beforeEach(async () => {
  upstream = await startUpstream({ script: answer });
  app = await startApp();
  await app.api("POST", "/admin/v1/providers", { name: "up", base_url: upstream.baseUrl });
});
afterEach(async () => {
  await app.stop();
  await upstream.stop();
});

const ANSWER = '{ "object":"anything",  "n":1.0 }';

function answer(call: UpstreamCall): Promise<unknown> {
  return call.reply({ body: ANSWER });
}

async function addModel(alias: string, capabilities: readonly string[]): Promise<void> {
  const made = await app.api("POST", "/admin/v1/models", {
    alias,
    provider: "up",
    upstream_name: `upstream-${alias}`,
    capabilities,
  });
  expect(made.status).toBe(201);
}

async function listEvents(count: number): Promise<any[]> {
  let requests: any[] = [];
  await until(
    async () => {
      ({ requests } = (await (await app.api("GET", "/stats/requests")).json()) as any);
      return requests.length >= count;
    },
    () => `${requests.length} of ${count} events`,
  );
  return requests;
}

describe("a path whose capability no model has", () => {
  test("is unknown whoever asks, names the command that opens it, and reaches no upstream", async () => {
    await addModel("talk", ["chat", "chat_stream", "completions", "embeddings", "vision"]);
    for (const row of ROWS) {
      for (const path of pathsOf(row)) {
        for (const headers of [{}, { authorization: `Bearer ${app.adminKey}` }]) {
          const response = await app.api("POST", path, { model: "talk" }, headers);
          const message = await expectError(response, "404 unknown_endpoint");
          expect(message).toContain(`lockport model set NAME --add-capability ${row.capability}`);
        }
      }
    }
    expect(upstream.requests).toHaveLength(0);
    expect(await listEvents(0)).toEqual([]);
  });

  test("shows the page to a browser where it has no prefix, as any path does", async () => {
    const shown = await app.api("GET", "/responses/resp_1", undefined, { accept: "text/html" });
    expect([shown.status, shown.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    await expectError(await app.api("GET", "/v1/responses/resp_1"), "404 unknown_endpoint");
  });

  test("answers a WebSocket as it does everything else", async () => {
    await expectError(await upgrade("/v1/responses"), "404 unknown_endpoint");
  });
});

describe("a path whose capability a model has", () => {
  test("goes to that path of the provider, with nothing of the body changed but the model, and its query", async () => {
    await addModel("all", CAPABILITIES);
    const names: string[] = [];
    for (const row of ROWS) {
      for (const path of pathsOf(row)) {
        for (const { type, of } of bodiesOf(row)) {
          // What only chat completions force, and what other endpoints do not read, stays as it came.
          const response = await app.api(
            "POST",
            `${path}?beta=true&beta=%2F`,
            Buffer.from(of("all"), "latin1"),
            {
              authorization: `Bearer ${app.adminKey}`,
              "content-type": type,
            },
          );
          expect([response.status, await response.text()]).toEqual([200, ANSWER]);
          const { method, target, headers, body } = upstream.lastRequest();
          expect([method, target]).toEqual(["POST", `/v1${row.path}?beta=true&beta=%2F`]);
          expect([headers.get("content-type"), body.toString("latin1")]).toEqual([type, of("upstream-all")]);
          names.push(row.name);
        }
      }
    }
    const events = await listEvents(names.length);
    // The newest first.
    expect(events.map(({ endpoint }) => endpoint).toReversed()).toEqual(names);
    for (const event of events) expect(event).toMatchObject({ model: "all", provider: "up", outcome: "ok" });
  });

  test("refuses another model with the command that adds it, and keeps what that model has", async () => {
    await addModel("all", CAPABILITIES);
    await addModel("talk", ["chat", "vision"]);
    for (const row of ROWS) {
      const { capability } = row;
      const response = await askOf(row, "talk");
      const message = await expectError(response, "400 endpoint_not_supported", "model");
      expect(message).toContain(`lockport model set talk --add-capability ${capability}`);
    }
    expect(upstream.requests).toHaveLength(0);
  });

  test("asks who calls before it reads anything, and for a model on every one of them", async () => {
    await addModel("all", CAPABILITIES);
    for (const row of ROWS) {
      const path = `/v1${row.path}`;
      await expectError(await app.api("POST", path, "no JSON", {}), "401 missing_api_key");
      const code = "form" in row ? "invalid_multipart" : "invalid_json";
      await expectError(await app.api("POST", path, "no JSON"), `400 ${code}`);
      await expectError(await askOf(row, ""), "400 model_required");
      await expectError(await askOf(row, "none"), "404 model_not_found");
    }
    expect(upstream.requests).toHaveLength(0);
  });

  test("tells clients of the messages API alone not to try a wrong key again", async () => {
    await addModel("all", CAPABILITIES);
    for (const { path, capability } of ROWS) {
      const response = await app.api("POST", `/v1${path}`, "{}", { "x-api-key": "lp_wrong" });
      expect({ path, told: response.headers.get("x-should-retry") }).toEqual({
        path,
        told: capability === "messages" ? "false" : null,
      });
      await expectError(response, "401 invalid_api_key");
    }
  });

  test("is open from the moment of a change on, and closed when the last such model is gone", async () => {
    await addModel("talk", ["chat"]);
    const ask = async () => (await app.api("POST", "/v1/moderations", { model: "talk" })).status;
    expect(await ask()).toBe(404);
    await app.api("PATCH", "/admin/v1/models/talk", { capabilities: ["chat", "moderation"] });
    expect(await ask()).toBe(200);
    await app.api("DELETE", "/admin/v1/models/talk");
    expect(await ask()).toBe(404);
  });

  test("answers a WebSocket with 426 to a caller, and asks first who that is", async () => {
    await addModel("all", ["responses"]);
    for (const path of ["/v1/responses", "/responses"]) {
      await expectError(await upgrade(path, null), "401 missing_api_key");
      const refused = await upgrade(path);
      expect(refused.headers.get("upgrade")).toBe("HTTP/1.1");
      expect(await refused.clone().text()).toContain(
        `Send a POST to /v1/responses. (request ${refused.headers.get("x-proxy-request-id")})`,
      );
      await expectError(refused, "426 upgrade_not_supported");
    }
    // Endpoints that are always open are asked for as ever.
    await expectError(await upgrade("/v1/chat/completions"), "404 unknown_endpoint");
    expect(upstream.requests).toHaveLength(0);
  });

  test("sends no key of this server upstream in a query, percent-encoded or not", async () => {
    await addModel("all", ["messages"]);
    for (const key of [app.adminKey, app.adminKey.replace("_", "%5f")]) {
      const response = await app.api("POST", `/v1/messages?key=${key}`, { model: "all" });
      const message = await expectError(response, "400 invalid_request");
      expect(message).not.toContain(key);
    }
    expect(upstream.requests).toHaveLength(0);
  });
});

/** The body that a row takes, whatever it holds. */
function askOf(row: (typeof ROWS)[number], model: string): Promise<Response> {
  const [{ type, of }] = bodiesOf(row) as [ReturnType<typeof bodiesOf>[number]];
  return app.api("POST", `/v1${row.path}`, of(model), {
    authorization: `Bearer ${app.adminKey}`,
    "content-type": type,
  });
}

/** Asks for a WebSocket, as clients of the Responses API do first. */
async function upgrade(path: string, key: string | null = app.adminKey): Promise<Response> {
  const head = [
    `GET ${path} HTTP/1.1`,
    `Host: ${new URL(app.url).host}`,
    ...(key === null ? [] : [`Authorization: Bearer ${key}`]),
    "Connection: Upgrade, close",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
  ];
  return toResponse(await sendRaw(Number(new URL(app.url).port), `${head.join("\r\n")}\r\n\r\n`));
}
