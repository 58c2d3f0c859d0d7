import { readFileSync, statSync } from "node:fs";
import { toAssetTable, type Asset, type AssetTable } from "#http/page/assets.ts";
import { sha256Hex } from "#kernel/crypto.ts";

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
