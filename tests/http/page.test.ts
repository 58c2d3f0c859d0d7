import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { CODINGS, type Coding, negotiateCoding } from "#http/door/negotiation.ts";
import { toAssetTable, type Asset } from "#http/page/assets.ts";
import { toPagePolicy } from "#http/page/page.ts";
import { encodeFiles } from "../../contrib/build/file.ts";
import { call, expectError, startHarness, type Harness } from "./support.ts";

const SCRIPT_PATH = "/assets/main-0123456789abcdef.js";
const STYLES_PATH = "/assets/styles-0123456789abcdef.css";
const HTML = `<!doctype html><title>Lockport</title>${"<p>A page.</p>".repeat(50)}`;
const SCRIPT = `console.log("${"words ".repeat(200)}");`;

const DECODE: Readonly<Record<Coding, (bytes: Uint8Array) => Uint8Array>> = {
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  gzip: gunzipSync,
  identity: (bytes) => bytes,
};

let harness: Harness;
beforeAll(async () => {
  const assets = toAssetTable([
    await toAsset("/", "text/html; charset=utf-8", HTML),
    await toAsset(SCRIPT_PATH, "text/javascript; charset=utf-8", SCRIPT),
    await toAsset(STYLES_PATH, "text/css; charset=utf-8", "p{color:red}"),
  ]);
  harness = await startHarness({ openAssets: async () => assets });
});
afterAll(() => harness.stop());

async function toAsset(path: string, contentType: string, text: string): Promise<Asset> {
  const bytes = new TextEncoder().encode(text);
  const [file] = await encodeFiles([{ path, contentType, bytes, isFirstLoad: true }]);
  const variants = CODINGS.map((coding) => ({
    coding,
    body: new Uint8Array(file!.encoded[coding]),
    etag: `"${path}-${coding}"`,
  }));
  return { path, contentType, variants };
}

const policyOf = ({ port }: Harness) => toPagePolicy({ host: `127.0.0.1:${port}`, publicUrl: null });

/** As it comes, in the coding that it has. Without a header of its own Bun's fetch asks for gzip, deflate, br and zstd. */
function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> {
  return fetch(harness.url + path, {
    method,
    headers: { "accept-encoding": "identity", ...headers },
    decompress: false,
    redirect: "manual",
  });
}

describe("the coding of a file", () => {
  test.each<[string | null, Coding]>([
    [null, "identity"],
    ["", "identity"],
    ["identity", "identity"],
    ["gzip", "gzip"],
    ["x-gzip", "gzip"],
    ["GZIP", "gzip"],
    ["gzip, deflate", "gzip"],
    ["deflate", "identity"],
    ["gzip, deflate, br", "br"],
    ["gzip, deflate, br, zstd", "br"],
    ["zstd, gzip", "zstd"],
    ["gzip;q=1.0, br;q=0.9", "gzip"],
    ["gzip; q=0.5 ,br ; Q=0.8", "br"],
    ["br;q=0, gzip", "gzip"],
    ["br;q=0.000, gzip;q=0.001", "gzip"],
    ["gzip;q=0", "identity"],
    ["*", "br"],
    ["*;q=0.1", "br"],
    ["br;q=0, *", "zstd"],
    ["br;q=0.1, zstd;q=0.1, *;q=0.5", "gzip"],
    ["gzip;q=0.4, identity;q=0.6", "identity"],
    ["gzip;q=0.6, identity;q=0.6", "gzip"],
    ["gzip;q=0.4, identity;q=0.6, *;q=0.7", "br"],
    ["identity;q=0, gzip", "gzip"],
    ["identity;q=0, *;q=0.3", "br"],
    ["*;q=0, gzip", "gzip"],
    ["*;q=0, identity", "identity"],
    ["identity;q=1, *;q=0", "identity"],
    // Nothing that is kept is acceptable: the header is disregarded, never answered by a coding that was refused by its name.
    ["identity;q=0", "identity"],
    ["*;q=0", "identity"],
    ["deflate, identity;q=0", "identity"],
    // A malformed header asks for nothing.
    ["br;q=2, gzip", "gzip"],
    ["br;q=x", "identity"],
    ["br;q=0.1234, zstd;q=-1, gzip;q=.5", "identity"],
    [",, ;q=1, gzip ,", "gzip"],
    ["brotli, gzip2", "identity"],
  ])("asked for by %p is %s", (header, coding) => {
    const headers = new Headers(header === null ? {} : { "accept-encoding": header });
    expect(negotiateCoding(headers, CODINGS)).toBe(coding);
  });

  test.each<[string, Coding]>([
    ["br, gzip;q=0.5", "gzip"],
    ["br", "identity"],
    ["*", "gzip"],
  ])("is one that the file is kept in: %p is %s of gzip and identity", (header, coding) => {
    expect(negotiateCoding(new Headers({ "accept-encoding": header }), ["gzip", "identity"])).toBe(coding);
  });

  test.each([...CODINGS])(
    "%s decodes to the same bytes, with a tag of its own and a length",
    async (coding) => {
      for (const [path, text] of [
        ["/", HTML],
        [SCRIPT_PATH, SCRIPT],
      ] as const) {
        const response = await get(path, { "accept-encoding": coding });
        const bytes = await response.bytes();
        expect(new TextDecoder().decode(DECODE[coding](bytes))).toBe(text);
        expect(response.headers.get("content-encoding")).toBe(coding === "identity" ? null : coding);
        expect(response.headers.get("content-length")).toBe(String(bytes.byteLength));
        expect(response.headers.get("etag")).toBe(`"${path}-${coding}"`);
        expect(response.headers.get("vary")).toBe("accept-encoding");
        if (coding !== "identity") expect(bytes.byteLength).toBeLessThan(text.length);
      }
    },
  );
});

describe("the page", () => {
  test.each(["/", "/usage", "/requests?model=a%2Fb", "/people", "/no/such/page", "/assets", "/a.js"])(
    "is the html at %s, without a credential, under the strict policy, and asked for again each time",
    async (path) => {
      const response = await get(path);
      expect([response.status, await response.text()]).toEqual([200, HTML]);
      const headers = Object.fromEntries(response.headers);
      delete headers["date"];
      expect(headers).toEqual({
        "content-type": "text/html; charset=utf-8",
        "content-length": String(HTML.length),
        "content-security-policy": policyOf(harness),
        "x-frame-options": "DENY",
        "cross-origin-opener-policy": "same-origin",
        "permissions-policy": "camera=(), geolocation=(), microphone=()",
        "cache-control": "no-cache",
        etag: '"/-identity"',
        vary: "accept-encoding",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
      });
    },
  );

  test("has a policy that allows nothing inline, nothing foreign, no framing and no plain strings as markup", () => {
    const policy = policyOf(harness);
    const files = `127.0.0.1:${harness.port}/assets/`;
    expect(policy).toStartWith(`default-src 'none'; script-src ${files}; style-src ${files};`);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe|\*|https?:|blob:/);
  });

  // [host, public URL, where scripts and styles come from]
  test.each([
    ["localhost:4000", null, "localhost:4000/assets/"],
    ["lockport.example.com", null, "lockport.example.com/assets/"],
    [
      "lockport.example.com",
      "https://lockport.example.com",
      "https://lockport.example.com/assets/ lockport.example.com/assets/",
    ],
    [
      "localhost:4000",
      "https://lockport.example.com",
      "https://lockport.example.com/assets/ localhost:4000/assets/",
    ],
    // A host that no policy can name has the whole origin allowed.
    ["[::1]:4000", null, "'self'"],
    ["192.168.1.5:4000", null, "'self'"],
    ["my_host:4000", null, "'self'"],
    ["localhost.:4000", null, "'self'"],
    [null, null, "'self'"],
    ["x; script-src *", null, "'self'"],
  ])(
    "asked for at %p, with the public URL %p, takes scripts and styles from %s alone",
    (host, publicUrl, files) => {
      const policy = toPagePolicy({ host, publicUrl });
      expect(policy).toContain(`; script-src ${files}; style-src ${files}; img-src`);
      expect(policy).not.toContain("*");
    },
  );

  test("is never the answer to a path of the interface, nor to a method other than GET and HEAD", async () => {
    for (const path of ["/v1/nope", "/my", "/admin/v1/nope", "/auth/nope", "/stats", "/model/x"]) {
      await expectError(await get(path), "404 unknown_endpoint");
    }
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      for (const path of ["/usage", SCRIPT_PATH]) {
        await expectError(await get(path, {}, method), "404 unknown_endpoint");
      }
    }
  });

  test("is what a browser gets that opens /models, and caches tell it from the list", async () => {
    const page = await get("/models", { accept: "text/html,*/*;q=0.8", "accept-encoding": "br" });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(new TextDecoder().decode(brotliDecompressSync(await page.bytes()))).toBe(HTML);
    expect(page.headers.get("vary")).toBe("accept-encoding, accept");
    expect(page.headers.get("content-security-policy")).toBe(policyOf(harness));
    const list = await get("/models", { accept: "application/json" });
    expect(await list.json()).toEqual({ object: "list", data: [] });
    expect([list.headers.get("vary"), list.headers.get("content-security-policy")]).toEqual(["accept", null]);
  });

  test("has an opener policy only where browsers take one: on this machine and under an https address", async () => {
    const ask = async (app: Harness["app"], origin: string) => {
      const response = await app.fetch(new Request(`${origin}/`), null);
      return [response.status, response.headers.get("cross-origin-opener-policy")];
    };
    const { config } = harness.deps;
    const own = await startHarness({ ...harness.deps, config: { ...config, allowedHosts: ["vm"] } });
    expect(await ask(own.app, "http://vm:4000")).toEqual([200, null]);
    expect(await ask(own.app, "http://localhost:4000")).toEqual([200, "same-origin"]);
    expect(await ask(own.app, "http://[::1]:4000")).toEqual([200, "same-origin"]);
    await own.stop();
    const secure = await startHarness({ config: { ...config, publicUrl: "https://models.example.org" } });
    expect(await ask(secure.app, "http://models.example.org")).toEqual([200, "same-origin"]);
    await secure.stop();
  });
});

describe("a file under /assets/", () => {
  test("is kept by browsers and caches for a year, since another content has another name", async () => {
    const response = await get(SCRIPT_PATH);
    const headers = Object.fromEntries(response.headers);
    delete headers["date"];
    expect(headers).toEqual({
      "content-type": "text/javascript; charset=utf-8",
      "content-length": String(SCRIPT.length),
      "cache-control": "public, max-age=31536000, immutable",
      etag: `"${SCRIPT_PATH}-identity"`,
      vary: "accept-encoding",
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    });
    expect((await get(STYLES_PATH)).headers.get("content-type")).toBe("text/css; charset=utf-8");
  });

  test.each([
    "/assets/main-ffffffffffffffff.js",
    "/assets/",
    "/assets/index.html",
    "/assets//main-0123456789abcdef.js",
    "/assets/MAIN-0123456789abcdef.js",
    "/assets/main-0123456789abcdef.js/",
    "/assets/main-0123456789abcdef.js.br",
    "/assets/%6dain-0123456789abcdef.js",
    "/assets/<script>secret-word</script>",
  ])("that is not there is 404 as plain text of ours, never the page, and is not kept: %s", async (path) => {
    for (const method of ["GET", "HEAD"]) {
      const response = await get(path, { accept: "text/html" }, method);
      expect(response.status).toBe(404);
      expect(response.headers.get("content-type")).toBe("text/plain; charset=utf-8");
      expect(response.headers.get("x-proxy-error-source")).toBe("proxy");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("cache-control")).toBe("no-store");
      const text = await response.text();
      expect(text).toBe(
        method === "HEAD"
          ? ""
          : "There is no such file. It may belong to another version of this page: load the page again.\n",
      );
    }
  });

  test("is found however its path is spelled with dots, and dots lead out of the folder to pages only", async () => {
    expect((await get(`/assets/./x/../${SCRIPT_PATH.slice("/assets/".length)}`)).status).toBe(200);
    const out = await get("/assets/%2e%2e/%2e%2e/etc/passwd");
    expect([out.status, await out.text()]).toEqual([200, HTML]);
  });
});

describe("If-None-Match", () => {
  const etag = (coding: Coding) => `"${SCRIPT_PATH}-${coding}"`;

  test.each([
    ["the tag", etag("br")],
    ["the tag, weakened by a cache on the way", `W/${etag("br")}`],
    ["a list that has the tag", `"other", W/"another",${etag("br")}`],
    ["any tag", "*"],
  ])("with %s is 304, with the headers of the answer and no body", async (_, tag) => {
    for (const method of ["GET", "HEAD"]) {
      const headers = { "accept-encoding": "br", "if-none-match": tag };
      const response = await get(SCRIPT_PATH, headers, method);
      expect([response.status, await response.text()]).toEqual([304, ""]);
      expect(response.headers.get("etag")).toBe(etag("br"));
      expect(response.headers.get("vary")).toBe("accept-encoding");
      expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
      expect(response.headers.get("content-encoding")).toBeNull();
    }
  });

  test.each([
    ["the tag of another coding", etag("gzip")],
    ["another tag", '"other"'],
    ["a part of the tag", etag("br").slice(0, -2)],
    ["nothing", ""],
  ])("with %s is the file", async (_, tag) => {
    const response = await get(SCRIPT_PATH, { "accept-encoding": "br", "if-none-match": tag });
    expect(response.status).toBe(200);
    expect((await response.bytes()).byteLength).toBeGreaterThan(0);
  });

  test("of the page is 304 at any of its paths, and its policy comes along", async () => {
    for (const path of ["/", "/usage"]) {
      const response = await get(path, { "if-none-match": '"/-identity"' });
      expect(response.status).toBe(304);
      expect(response.headers.get("content-security-policy")).toBe(policyOf(harness));
      expect(response.headers.get("cache-control")).toBe("no-cache");
    }
  });
});

test("HEAD has the headers of GET, its length among them, and no body, in every coding", async () => {
  for (const path of ["/", "/usage", SCRIPT_PATH, STYLES_PATH]) {
    for (const coding of CODINGS) {
      const [plain, head] = await Promise.all(
        ["GET", "HEAD"].map((method) => get(path, { "accept-encoding": coding }, method)),
      );
      const headersOf = (response: Response | undefined) => {
        const headers = Object.fromEntries(response?.headers ?? []);
        delete headers["date"];
        return headers;
      };
      expect(headersOf(head)).toEqual(headersOf(plain));
      expect([await head?.text(), plain?.status]).toEqual(["", 200]);
    }
  }
});

test("a failed sign-in is a page under the same policy, in the style of the page when that was built", async () => {
  const ask = (to: Harness) => call(to, "GET", "/auth/login", { headers: { accept: "text/html" } });
  const page = await ask(harness);
  expect(page.headers.get("content-security-policy")).toBe(policyOf(harness));
  const html = await page.text();
  expect(html).toContain(`<link rel="stylesheet" href="${STYLES_PATH}">`);
  expect(html).not.toMatch(/<script|<style|style=|\son[a-z]+=/i);
  const bare = await startHarness();
  const plain = await (await ask(bare)).text();
  expect(plain).toContain("sso_not_configured");
  expect(plain).not.toContain("stylesheet");
  await bare.stop();
});

test("a server from source whose page was not built says how to build it, under the same policy, and has no files", async () => {
  const bare = await startHarness();
  const page = await call(bare, "GET", "/usage", { headers: {} });
  expect(page.headers.get("content-security-policy")).toBe(policyOf(bare));
  expect(await page.text()).toContain("<code>npm start</code>");
  expect((await call(bare, "GET", SCRIPT_PATH)).status).toBe(404);
  await bare.stop();
});
