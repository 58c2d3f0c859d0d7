import { join } from "node:path";
import { toAssetTable, type AssetTable, type Asset } from "#http/page/assets.ts";
import type { EmbeddedFile } from "./embedded-page.ts";
import { readFileSync, statSync } from "node:fs";
import { sha256Hex } from "#kernel/crypto.ts";

/** From source: where `npm start` and `npm run dev` leave the page that they built. */
export const BUILT_PAGE_PATH = join(import.meta.dir, "../../../node_modules/.cache/lockport/page.json");

/** The page inside the executable; from source the one that was built last, while the server runs as well. Null: none was. */
export async function openPageAssets(): Promise<AssetTable | null> {
  // Loaded here and not above: the names, types and hashes of some hundred files, in the memory of a server that nobody looks at.
  const { EMBEDDED_FILES } = await import("./embedded-page.ts");
  return EMBEDDED_FILES.length > 0 ? toEmbeddedTable(EMBEDDED_FILES) : openBuiltPage(BUILT_PAGE_PATH);
}

/** Nothing is read before it is asked for, and nothing is copied then. */
function toEmbeddedTable(files: readonly EmbeddedFile[]): AssetTable {
  return toAssetTable(
    files.map(({ path, contentType, variants }) => ({
      path,
      contentType,
      variants: variants.map(({ coding, file, etag }) => ({ coding, etag, body: Bun.file(file) })),
    })),
  );
}

/** A file of the page as it lies in the built page, which is a JSON array of them. */
export interface BuiltFile {
  readonly path: string;
  readonly contentType: string;
  readonly base64: string;
}

/** A page that was built beside the source, uncompressed. Another build is seen at the next request. Null when there is none. */
export function openBuiltPage(builtPagePath: string): AssetTable | null {
  let readAtMs = findBuiltAtMs(builtPagePath);
  if (readAtMs === null) return null;
  let table = readBuiltPage(builtPagePath);
  const current = (): AssetTable => {
    const builtAtMs = findBuiltAtMs(builtPagePath);
    if (builtAtMs !== null && builtAtMs !== readAtMs) {
      table = readBuiltPage(builtPagePath);
      readAtMs = builtAtMs;
    }
    return table;
  };
  return {
    getPage: () => current().getPage(),
    findAsset: (path) => current().findAsset(path),
    getStylesheets: () => current().getStylesheets(),
  };
}

function findBuiltAtMs(builtPagePath: string): number | null {
  return statSync(builtPagePath, { throwIfNoEntry: false })?.mtimeMs ?? null;
}

function readBuiltPage(builtPagePath: string): AssetTable {
  const files: unknown = JSON.parse(readFileSync(builtPagePath, "utf8"));
  if (!Array.isArray(files) || !files.every(isBuiltFile)) {
    throw new Error(`${builtPagePath} is no built page: delete it, and build it with npm start.`);
  }
  return toAssetTable(files.map(toAsset));
}

function toAsset({ path, contentType, base64 }: BuiltFile): Asset {
  const bytes = Uint8Array.fromBase64(base64);
  return {
    path,
    contentType,
    variants: [{ coding: "identity", body: bytes, etag: `"${sha256Hex(bytes)}"` }],
  };
}

function isBuiltFile(value: unknown): value is BuiltFile {
  return (
    typeof value === "object" &&
    value !== null &&
    "path" in value &&
    typeof value.path === "string" &&
    "contentType" in value &&
    typeof value.contentType === "string" &&
    "base64" in value &&
    typeof value.base64 === "string"
  );
}
