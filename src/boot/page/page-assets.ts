import { join } from "node:path";
import { toAssetTable, type AssetTable } from "#http/page/assets.ts";
import { openBuiltPage } from "./built-page.ts";
import type { EmbeddedFile } from "./embedded-page.ts";

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
