import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { RelayInput } from "#forward/relay.ts";
import type { Principal } from "#identity/principal.ts";
import { ProxyError } from "#kernel/errors.ts";
import {
  call,
  createCaller,
  expectError,
  sendRaw,
  startHarness,
  toResponse,
  type Harness,
} from "./support.ts";

/** A token that works, and its owner's id. */
const TOKEN = `lpt_${"r".repeat(43)}`;
const GONE = `lpt_${"g".repeat(43)}`;
const BASE = "/transparent/messages";

let harness: Harness;
let off: Harness;
let owner: Principal;
let asked: string[];
let sent: RelayInput[];
let answer: () => Response;

beforeAll(async () => {
  harness = await startHarness({
    relay: {
      authenticator: {
        async authenticate(token) {
          asked.push(token);
          if (token !== TOKEN) throw new ProxyError("unknown_relay_token", "This relay token is not known.");
          return { principal: owner, relayTokenId: "token-1", fixedTags: [] };
        },
      },
      relay: {
        async send(input) {
          sent.push(input);
          return { kind: "responded", response: answer() };
        },
      },
    },
  });
  off = await startHarness();
  owner = (await createCaller(harness, "relay-owner")).principal;
});
beforeEach(() => {
  asked = [];
  sent = [];
  answer = () => new Response("relayed");
});
afterAll(async () => {
  await harness.stop();
  await off.stop();
});

const raw = (target: string, { method = "GET", lines = "", version = "1.1" } = {}) =>
  sendRaw(
    harness.port,
    `${method} ${target} HTTP/${version}\r\nHost: localhost\r\nConnection: close\r\n${lines}\r\n`,
  ).then(toResponse);

describe("a relayed path", () => {
  test("reaches the relay as it came, with the token's owner, and needs no other credential", async () => {
    const response = await call(harness, "POST", `${BASE}/${TOKEN}/v1//messages/%2F?beta=true&`, {
      body: { model: "m" },
      headers: { "x-api-key": "sk-own" },
    });
    expect(await response.text()).toBe("relayed");
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    expect(asked).toEqual([TOKEN]);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      method: "POST",
      path: "/v1//messages/%2F",
      query: "?beta=true&",
      caller: { principalId: owner.id, principalName: "relay-owner", relayTokenId: "token-1" },
      body: new Uint8Array(Buffer.from('{"model":"m"}')),
    });
  });

  test.each(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])(
    "is served for %s",
    async (method) => {
      expect((await call(harness, method, `${BASE}/${TOKEN}/v1/models`, { headers: {} })).status).toBe(200);
      expect(sent).toMatchObject([{ method }]);
    },
  );

  test.each(["TRACE", "PROPFIND", "QUERY"])("is 404 for %s", async (method) => {
    await expectError(await raw(`${BASE}/${TOKEN}/v1/models`, { method }), "404 unknown_endpoint");
    expect(sent).toEqual([]);
  });

  test("is not reached by CONNECT", async () => {
    await raw(`localhost:80`, { method: "CONNECT" });
    expect(sent).toEqual([]);
  });

  test("a caller without a Host (HTTP/1.0) is served as any other", async () => {
    const bytes = `GET ${BASE}/${TOKEN}/v1/models HTTP/1.0\r\n\r\n`;
    expect(await sendRaw(harness.port, bytes)).toStartWith("HTTP/1.1 200");
    expect(sent).toMatchObject([{ path: "/v1/models" }]);
  });

  test("a browser under a foreign host name is refused, since its page may be anybody's", async () => {
    const bytes = `GET ${BASE}/${TOKEN}/v1/models HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n`;
    await expectError(toResponse(await sendRaw(harness.port, bytes)), "403 host_not_allowed");
    expect(asked).toEqual([]);
  });
});

describe("refusals", () => {
  test("with the relay off it is transparent_relay_disabled whatever the token, the path and the body", async () => {
    for (const path of ["/x/v1/messages", `/${TOKEN}/v1/messages`, `/${off.adminKey}/`, "/x/v1/../y", "/"]) {
      const bytes = `POST ${BASE}${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 1\r\n\r\n{`;
      const message = await expectError(
        toResponse(await sendRaw(off.port, bytes)),
        "404 transparent_relay_disabled",
        null,
      );
      expect(message).not.toContain(TOKEN);
    }
  });

  test.each([
    ["an unknown token", GONE, "/v1/messages"],
    ["an unknown token before an empty rest", GONE, ""],
    ["an unknown token before a path that cannot be relayed", GONE, "/v1/../messages"],
    ["an empty token", "", "/v1/messages"],
    ["what is left of a path that climbs over its token", TOKEN, "/../v1/messages"],
    ["an escaped token", TOKEN.replace("lpt", "%6cpt"), "/v1/messages"],
    ["a token and more", `${TOKEN}x`, "/v1/messages"],
  ])("%s is 404 unknown_relay_token, and the token is not repeated", async (_, token, rest) => {
    const response = await raw(`${BASE}/${token}${rest}`);
    expect(response.headers.get("referrer-policy")).toBe("no-referrer");
    const text = await response.clone().text();
    await expectError(response, "404 unknown_relay_token", null);
    if (token !== "") expect(text).not.toContain(token);
    expect(sent).toEqual([]);
  });

  test.each([
    "",
    "/",
    "?x=1",
    "/?x=1",
    "/v1/../messages",
    "/v1/./messages",
    "/v1/messages/.",
    "/v1/messages/..",
    "/./v1/messages",
    "/v1/%2e%2e/messages",
    "/v1/%2E./messages",
    "/v1/.%2e/messages",
    "/v1/%2e/messages",
    "/v1\\..\\messages",
    "/v1\\messages",
    "/v1/%5Ca\\messages",
    "/v1/..%2fmessages",
    "/v1/%2E%2e%2F%2e%2e%2Fadmin",
    "/v1/a%2F.%2Fb",
    "/v1/..%5cmessages",
    "/v1//a%2f..",
    "/v1//../x",
    "//../v1/messages",
    `${"/a".repeat(13)}/../../x`,
    `${BASE}/${TOKEN}/v1/messages`,
    `/v1/messages?token=${TOKEN}`,
    `/v1/messages/${TOKEN.replace("lpt", "%6cpt")}`,
    `/v1/messages?token=${TOKEN.replace("_", "%255F")}`,
    "/v1/messages#x",
    "/v1/messages?a#x",
  ])("a path that would not arrive as it came is 404 unknown_endpoint: %s", async (rest) => {
    const response = await raw(`${BASE}/${TOKEN}${rest}`);
    const text = await response.clone().text();
    await expectError(response, "404 unknown_endpoint", null);
    expect(text).not.toContain(TOKEN);
    expect(sent).toEqual([]);
  });

  test.each(["/v1/../messages", "/v1/%2E%2e/x", "/./v1"])(
    "without a Host (HTTP/1.0) as well: %s",
    async (rest) => {
      const bytes = `GET ${BASE}/${TOKEN}${rest} HTTP/1.0\r\n\r\n`;
      await expectError(toResponse(await sendRaw(harness.port, bytes)), "404 unknown_endpoint");
    },
  );

  test("an escaped slash or backslash and names with dots are ordinary", async () => {
    for (const rest of ["/v1/a%5Cb", "/v1/a..%2f.b", "/v1/...", "/v1/.a/b..", "/v1/a?x=/../y"])
      expect((await raw(`${BASE}/${TOKEN}${rest}`)).status).toBe(200);
    expect(sent.map(({ path, query }) => path + query)).toEqual([
      "/v1/a%5Cb",
      "/v1/a..%2f.b",
      "/v1/...",
      "/v1/.a/b..",
      "/v1/a?x=/../y",
    ]);
  });

  test("empty segments and any depth without dots pass unchanged, and so does a whole URL as the target", async () => {
    const deep = "/a".repeat(12);
    const paths = ["/v1//messages", "//v1", "/v1/messages/", deep, `${deep}/b`, "/v1/%zz%"];
    for (const rest of paths) expect((await raw(`${BASE}/${TOKEN}${rest}`)).status).toBe(200);
    expect((await raw(`http://localhost${BASE}/${TOKEN}/v1/models`)).status).toBe(200);
    expect(sent.map(({ path }) => path)).toEqual([...paths, "/v1/models"]);
  });

  test("a body over the limit is 413 before anything is sent on", async () => {
    const bytes = `POST ${BASE}/${TOKEN}/v1/messages HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: 262145\r\n\r\n`;
    await expectError(toResponse(await sendRaw(harness.port, bytes)), "413 request_too_large");
    expect(sent).toEqual([]);
  });

  test("paths beside the relay's are unknown endpoints, never the page", async () => {
    for (const path of [
      "/transparent/messages",
      "/transparent",
      "/transparent/other/x/y",
      "//transparent/messages/x/y",
    ]) {
      await expectError(await raw(path), "404 unknown_endpoint");
    }
    expect(asked).toEqual([]);
  });

  test("a relay that fails is internal_error without its cause, and no line of the log names the token", async () => {
    answer = () => {
      throw new Error(`failed at ${TOKEN}`);
    };
    const response = await call(harness, "GET", `${BASE}/${TOKEN}/v1/models`);
    const text = await response.clone().text();
    await expectError(response, "500 internal_error");
    expect(text).not.toContain(TOKEN);
    expect(harness.logLines.join("\n")).not.toContain(TOKEN);
  });
});
