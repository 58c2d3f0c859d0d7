import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHostRule, type HttpConfig } from "#http/door/host.ts";
import { ProxyError } from "#kernel/errors.ts";
import { expectError, sendRaw, startHarness, toResponse, type Harness } from "./support.ts";

const CONFIG: HttpConfig = {
  host: "127.0.0.1",
  publicUrl: null,
  allowedHosts: [],
  maxBodyBytes: 1000,
  adminPasswordEnabled: true,
};

function verdict(config: Partial<HttpConfig>, headers: Record<string, string>): string {
  try {
    createHostRule({ ...CONFIG, ...config }).check(new Headers(headers));
    return "passes";
  } catch (refusal) {
    if (!(refusal instanceof ProxyError)) throw refusal;
    return refusal.code;
  }
}

describe("the Host of a request", () => {
  test.each([
    "",
    "a b",
    "exa mple.com",
    "x/y",
    "user@host",
    "host:99999",
    "host:-1",
    "host:1:2",
    "host:8o",
    "[::1",
    "::1",
    "[::g]",
    "[127.0.0.1]",
    "h?q",
    "h#f",
    "a,b",
    "a, b",
    "%41",
    "a\\b",
    "<script>",
    "999.1.1.1",
    "-a",
    ".",
    "a".repeat(300),
  ])("%j is no authority and is refused with invalid_host, from a browser or not", (host) => {
    expect(verdict({}, { host })).toBe("invalid_host");
    expect(verdict({}, { host, origin: "http://localhost" })).toBe("invalid_host");
  });

  test.each(["a", "example.com", "EXAMPLE.com.", "my_host:4000", "10.0.0.1", "[2001:db8::1]:80", "x-y.z:0"])(
    "%j passes on a server for other machines when no browser sent it, and on loopback only is host_not_allowed whoever sent it",
    (host) => {
      for (const bound of ["0.0.0.0", "::", "10.1.2.3", "vm.example"]) {
        expect(verdict({ host: bound }, { host })).toBe("passes");
      }
      for (const bound of ["127.0.0.1", "127.9.9.9", "localhost", "::1"]) {
        expect(verdict({ host: bound }, { host })).toBe("host_not_allowed");
      }
      const url = `https://${host}`;
      expect(verdict({ publicUrl: url }, { host })).toBe("passes");
      expect(verdict({ allowedHosts: [new URL(url).hostname] }, { host })).toBe("passes");
    },
  );

  test.each([
    "localhost",
    "LOCALHOST:4000",
    "app.localhost",
    "127.0.0.1:4000",
    "127.9.9.9",
    "[::1]:4000",
    "localhost.",
  ])("%j is a loopback name and passes from a browser", (host) => {
    expect(verdict({}, { host, "sec-fetch-site": "same-origin" })).toBe("passes");
  });

  test.each(["origin", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest", "sec-fetch-user"])(
    "a foreign name with %s is a browser that was lured here, and is refused with host_not_allowed",
    (header) => {
      for (const host of [
        "evil.example",
        "evil.example:4000",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
      ]) {
        expect(verdict({}, { host, [header]: "x" })).toBe("host_not_allowed");
      }
    },
  );

  test("a browser may name the public URL's host, the bound address and the allowed hosts, on any port", () => {
    const config = {
      host: "10.1.2.3",
      publicUrl: "https://models.example.org",
      allowedHosts: ["vm", "[fd00::1]"],
    };
    for (const host of [
      "models.example.org",
      "MODELS.example.org:8443",
      "10.1.2.3:4000",
      "vm:4000",
      "[fd00::1]:4000",
    ]) {
      expect(verdict(config, { host, origin: "https://models.example.org" })).toBe("passes");
    }
    expect(verdict(config, { host: "other.example.org", origin: "https://models.example.org" })).toBe(
      "host_not_allowed",
    );
  });

  test.each([
    ["fd00::5", "[fd00::5]:4000", "[fd00::6]:4000"],
    ["[FD00:0::5]", "[fd00::5]", "[fd00::]"],
    ["example.org.", "example.org", "www.example.org"],
    ["example.org", "example.org.", "example.com."],
    ["VM", "vm:4000", "vm2:4000"],
  ])("%j in PROXY_ALLOWED_HOSTS is the host %j, and not %j", (name, host, other) => {
    const headers = { host, origin: `http://${host}` };
    expect(verdict({ allowedHosts: [name] }, headers)).toBe("passes");
    expect(verdict({ publicUrl: `http://${host}` }, headers)).toBe("passes");
    expect(verdict({}, headers)).toBe("host_not_allowed");
    expect(verdict({ allowedHosts: [name] }, { ...headers, host: other })).toBe("host_not_allowed");
  });

  test("bound to every address, a browser may name any IP address, but still no foreign name", () => {
    for (const bound of ["0.0.0.0", "::", "0:0::0"]) {
      expect(verdict({ host: bound }, { host: "192.168.1.5:4000", origin: "http://192.168.1.5:4000" })).toBe(
        "passes",
      );
      expect(verdict({ host: bound }, { host: "[fd00::1]:4000", "sec-fetch-mode": "cors" })).toBe("passes");
      expect(verdict({ host: bound }, { host: "evil.example", "sec-fetch-mode": "cors" })).toBe(
        "host_not_allowed",
      );
    }
  });

  test("thousands of different names are judged alike and are not all remembered", () => {
    const rule = createHostRule(CONFIG);
    for (let index = 0; index < 2000; index += 1) {
      expect(() => rule.check(new Headers({ host: `host-${index}.example` }))).toThrow(ProxyError);
    }
    expect(() => rule.check(new Headers({ host: "localhost", origin: "http://localhost" }))).not.toThrow();
  });
});

describe("over a socket", () => {
  let harness: Harness;
  beforeAll(async () => {
    harness = await startHarness();
  });
  afterAll(() => harness.stop());

  const sendTo = async ({ port, adminKey }: Harness, head: string, body = "") =>
    toResponse(
      await sendRaw(
        port,
        `${head}\r\nConnection: close\r\nAuthorization: Bearer ${adminKey}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      ),
    );
  const send = (head: string, body = "") => sendTo(harness, head, body);
  /** A server that other machines reach by whatever name. */
  const startOpen = async (): Promise<Harness & AsyncDisposable> => {
    const open = await startHarness({ config: { host: "0.0.0.0" } });
    return { ...open, routes: [], [Symbol.asyncDispose]: () => open.stop() };
  };

  test.each(["/healthz", "/admin/v1/providers", "/v1/models", "/"])(
    "a Host that is no authority is 400 invalid_host on GET %s",
    async (path) => {
      await expectError(await send(`GET ${path} HTTP/1.1\r\nHost: a b`), "400 invalid_host", null);
      await expectError(await send(`GET ${path} HTTP/1.1\r\nHost:`), "400 invalid_host");
      await expectError(await send(`GET ${path} HTTP/1.1\r\nHost: a\r\nHost: b`), "400 invalid_host");
    },
  );

  test.each(["/v1/chat/completions", "/embeddings"])(
    "the host rules stand before the native routes of the data plane too: POST %s",
    async (path) => {
      await expectError(await send(`POST ${path} HTTP/1.1\r\nHost: x/y`, "{}"), "400 invalid_host");
      await expectError(
        await send(`POST ${path} HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example`, "{}"),
        "403 host_not_allowed",
      );
    },
  );

  // Browsers send neither Origin nor fetch metadata with a GET to plain http on another name than localhost.
  test.each(["", "\r\nSec-Fetch-Site: same-origin"])(
    "a page whose name was rebound to this address reads nothing, also of what is public: %j",
    async (metadata) => {
      for (const path of [
        "/v1/models",
        "/models",
        "/metrics",
        "/openapi.json",
        "/auth/me",
        "/auth/login",
        "/auth/logout",
        "/admin/v1/keys",
        "/transparent/messages/token/v1/messages",
        "/healthz/x",
        "/",
      ]) {
        await expectError(
          await send(`GET ${path} HTTP/1.1\r\nHost: evil.example:4000${metadata}`),
          "403 host_not_allowed",
        );
      }
    },
  );

  test("a health check may name any host, except from a browser's page", async () => {
    for (const method of ["GET", "HEAD"]) {
      expect((await send(`${method} /healthz HTTP/1.1\r\nHost: pod-7.example`)).status).toBe(200);
    }
    await expectError(
      await send("GET /healthz HTTP/1.1\r\nHost: evil.example\r\nOrigin: http://evil.example"),
      "403 host_not_allowed",
    );
  });

  test.each(["a", "ab", "a.b", "x.y:1"])(
    "the short host %j does not shift the path to another route",
    async (host) => {
      await using open = await startOpen();
      const ask = (path: string) => sendTo(open, `GET ${path} HTTP/1.1\r\nHost: ${host}`);
      const hidden = await ask("/pub/admin/v1/providers");
      expect(hidden.headers.get("content-type")).toContain("text/html");
      const listed = await ask("/admin/v1/providers");
      expect(await listed.json()).toEqual({ providers: [], limit: 100, offset: 0, total: 0 });
    },
  );

  test("a health check over HTTP/1.0 without a Host is answered, and so is every other route", async () => {
    const health = await send("GET /healthz HTTP/1.0");
    expect([health.status, await health.json()]).toEqual([200, { status: "ok" }]);
    const providers = await send("GET /admin/v1/providers?limit=7 HTTP/1.0");
    expect([providers.status, await providers.json()]).toEqual([200, expect.objectContaining({ limit: 7 })]);
    expect((await send("POST /v1/chat/completions HTTP/1.0", "{}")).status).toBe(200);
    await expectError(await send("POST /admin/v1/principals HTTP/1.0", "{"), "400 invalid_json");
  });

  test("an absolute request target is served by its path, under the Host that was sent", async () => {
    expect((await send("GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost")).status).toBe(200);
  });
});
