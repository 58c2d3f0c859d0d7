import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from "node:zlib";
import { toPagePolicy } from "#http/page/page.ts";
import { checkHtml } from "../../contrib/build/html.ts";
import { FIRST_LOAD_BYTES_MAX } from "../../contrib/build/budget.ts";
import { makeFolder } from "../support/folder.ts";
import { executable } from "../support/executable.ts";
import { startProcess, type RunningProcess } from "../support/process.ts";

const BUILD_MS_MAX = 120_000;
const DECODE: Readonly<Record<string, (bytes: Uint8Array) => Uint8Array>> = {
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
  gzip: gunzipSync,
};

let folder: ReturnType<typeof makeFolder>;
let alone: string;
let server: RunningProcess;
beforeAll(async () => {
  folder = makeFolder();
  alone = join(folder.path, "alone");
  mkdirSync(alone);
  cpSync(await executable(), join(alone, "lockport"));
  server = await startProcess([join(alone, "lockport")], {
    env: { PROXY_DATA_DIR: join(folder.path, "data") },
    cwd: alone,
  });
}, BUILD_MS_MAX);
afterAll(async () => {
  await server.stop();
  folder.remove();
});

/** As it comes, in the coding that it has. */
function get(path: string, headers: Record<string, string> = {}, method = "GET"): Promise<Response> {
  return fetch(server.url + path, {
    method,
    headers: { "accept-encoding": "identity", ...headers },
    decompress: false,
  });
}

/** Every file of the page: those that the html names, those that they name, and so on. */
async function findAssets(): Promise<ReadonlyMap<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  const waiting = ["/"];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue;
    const response = await get(path);
    expect([path, response.status]).toEqual([path, 200]);
    const bytes = await response.bytes();
    found.set(path, bytes);
    for (const [name] of new TextDecoder()
      .decode(bytes)
      .matchAll(/\/assets\/[\w.-]+\.(?:js|css|svg|png|woff2)\b/g)) {
      waiting.push(name);
    }
  }
  return found;
}

describe("the page in the executable, alone in an empty folder", () => {
  test("is there with every file that it names, directly or not", async () => {
    const assets = await findAssets();
    const names = [...assets.keys()].map((path) => path.replace(/-[0-9a-f]{16}/, "")).sort();
    for (const name of ["/", "/assets/main.js", "/assets/styles.css", "/assets/theme-script.js"]) {
      expect(names).toContain(name);
    }
    // Pages are loaded when they are opened.
    expect(names.length).toBeGreaterThan(8);
    expect(readdirSync(alone)).toEqual(["lockport"]);
  });

  test("is the same in every coding, and smaller than without one where there is something to save", async () => {
    for (const [path, plain] of await findAssets()) {
      const sizes: number[] = [];
      for (const [coding, decode] of Object.entries(DECODE)) {
        const response = await get(path, { "accept-encoding": coding });
        const bytes = await response.bytes();
        expect([path, response.headers.get("content-encoding")]).toEqual([path, coding]);
        expect(Buffer.compare(decode(bytes), plain)).toBe(0);
        sizes.push(bytes.byteLength);
        const again = await get(path, { "accept-encoding": coding }, "HEAD");
        expect(again.headers.get("content-length")).toBe(String(bytes.byteLength));
        expect(again.headers.get("etag")).toBe(response.headers.get("etag"));
      }
      if (plain.byteLength > 1_000) expect(Math.max(...sizes)).toBeLessThan(plain.byteLength);
    }
  });

  test("holds nothing inline and nothing foreign, and sends the policy, at every address of a page", async () => {
    const html = await (await get("/")).text();
    for (const path of [
      "/",
      "/usage",
      "/requests?outcome=upstream_error",
      "/people",
      "/sign-in",
      "/no/such/page",
    ]) {
      const response = await get(path, { accept: "text/html" });
      expect([path, response.status, await response.text()]).toEqual([path, 200, html]);
      expect(response.headers.get("content-security-policy")).toBe(
        toPagePolicy({ host: new URL(response.url).host, publicUrl: null }),
      );
      expect(response.headers.get("x-frame-options")).toBe("DENY");
      expect(response.headers.get("x-content-type-options")).toBe("nosniff");
      expect(response.headers.get("cache-control")).toBe("no-cache");
    }
    expect(() => checkHtml(html)).not.toThrow();
    expect(html).not.toContain("reload-on-rebuild");
    expect(html).toMatch(/<meta name="build-id" content="[0-9a-f]{16}">/);
  });

  test("is production code without a trace of the machine that built it", async () => {
    const all = [...(await findAssets()).values()].map((bytes) => new TextDecoder().decode(bytes)).join("\n");
    expect(all).not.toMatch(/sourceMappingURL|jsxDEV|node_modules\//);
    expect(all).not.toContain(join(import.meta.dir, "../.."));
  });

  test("is kept by browsers for good but for the html, which is 304 while the build is the same", async () => {
    for (const path of (await findAssets()).keys()) {
      const response = await get(path, { "accept-encoding": "br" });
      const etag = response.headers.get("etag") ?? "";
      expect(etag).toMatch(/^"[0-9a-f]{64}"$/);
      expect(response.headers.get("vary")).toBe("accept-encoding");
      expect(response.headers.get("cache-control")).toBe(
        path === "/" ? "no-cache" : "public, max-age=31536000, immutable",
      );
      const known = await get(path, { "accept-encoding": "br", "if-none-match": etag });
      expect([known.status, await known.text()]).toEqual([304, ""]);
      const other = await get(path, { "accept-encoding": "gzip", "if-none-match": etag });
      expect(other.status).toBe(200);
    }
  });

  test("answers a file of another build with 404 as text", async () => {
    const response = await get("/assets/main-0000000000000000.js", { accept: "*/*" });
    expect([response.status, response.headers.get("content-type")]).toEqual([
      404,
      "text/plain; charset=utf-8",
    ]);
    expect(await response.text()).not.toContain("<");
  });

  test("needs no more than the budget before it can show anything", async () => {
    const html = await (await get("/")).text();
    const named = [...html.matchAll(/(?:src|href)="(\/assets\/[^"]+\.(?:js|css))"/g)].map(
      ([, path]) => path ?? "",
    );
    expect(named.length).toBeGreaterThanOrEqual(3);
    const sizes = await Promise.all(
      ["/", ...named].map(
        async (path) => (await (await get(path, { "accept-encoding": "gzip" })).bytes()).byteLength,
      ),
    );
    const total = sizes.reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(50_000);
    expect(total).toBeLessThanOrEqual(FIRST_LOAD_BYTES_MAX);
  });
});
