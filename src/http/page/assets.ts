import { CODINGS, type Coding, negotiateCoding } from "#http/door/negotiation.ts";

/** One representation of a file of the page. */
export interface Variant {
  readonly coding: Coding;
  /** Bytes in memory, or a file of the executable, which the system maps: no copy of it is kept. */
  readonly body: Uint8Array<ArrayBuffer> | Blob;
  /** A strong one (RFC 9110, section 8.8.3), with its quotes; each coding has its own. */
  readonly etag: string;
}

/** A file of the page, compressed when it was built. */
export interface Asset {
  /** The path that a browser asks for; `/` is the html. */
  readonly path: string;
  readonly contentType: string;
  /** One of them is `identity`. */
  readonly variants: readonly Variant[];
}

/** The built page. */
export interface AssetTable {
  /** The html, whatever page it is to show. */
  getPage(): Asset;
  /** Finds a file by the path of its URL, `/assets/…`. Such a path is never used again for other bytes. */
  findAsset(path: string): Asset | null;
  /** Paths of the style sheets that the page links. */
  getStylesheets(): readonly string[];
}

/** All files of the page but the html lie under it. */
export const ASSET_PREFIX = "/assets/";

/** A year: another content has another name. */
const IMMUTABLE = { "cache-control": "public, max-age=31536000, immutable" } as const;

/** Throws when the html is missing, or a file has no variant without a coding: that is a fault of the build. */
export function toAssetTable(assets: readonly Asset[]): AssetTable {
  const byPath = new Map(assets.map((asset) => [asset.path, asset]));
  const page = byPath.get("/");
  if (page === undefined) throw new Error("the built page has no html");
  for (const asset of assets) getVariant(asset, "identity");
  const stylesheets = assets.filter(({ contentType }) => contentType.startsWith("text/css"));
  return {
    getPage: () => page,
    findAsset: (path) => (path.startsWith(ASSET_PREFIX) ? (byPath.get(path) ?? null) : null),
    getStylesheets: () => stylesheets.map(({ path }) => path),
  };
}

/** Answers a path under `/assets/`: the file, 304 when the client has it, or 404 as plain text. */
export function toAssetAnswer(request: Request, assets: AssetTable | null, path: string): Response {
  const asset = assets?.findAsset(path) ?? null;
  return asset === null ? toMissingAsset() : toAssetResponse(request, asset, IMMUTABLE);
}

/** A file in the coding that was asked for, or 304 when the client has it (RFC 9110, section 15.4.5). */
export function toAssetResponse(
  request: Request,
  { contentType, variants }: Asset,
  ownHeaders: Readonly<Record<string, string>>,
): Response {
  const kept = CODINGS.filter((known) => variants.some(({ coding }) => coding === known));
  const coding = negotiateCoding(request.headers, kept);
  const { body, etag } = getVariant({ variants }, coding);
  const headers = { ...ownHeaders, etag, vary: "accept-encoding" };
  if (isKnown(request.headers.get("if-none-match"), etag))
    return new Response(null, { status: 304, headers });
  const encoding = coding === "identity" ? {} : { "content-encoding": coding };
  return new Response(body, { headers: { ...headers, ...encoding, "content-type": contentType } });
}

function getVariant({ variants }: Pick<Asset, "variants">, coding: Coding): Variant {
  const found = variants.find((variant) => variant.coding === coding);
  if (found === undefined) throw new Error(`a file of the page is not kept as ${coding}`);
  return found;
}

/** A browser that asks for a file of another build must get no page, which it would take for a script or a style sheet. */
function toMissingAsset(): Response {
  return new Response(
    "There is no such file. It may belong to another version of this page: load the page again.\n",
    {
      status: 404,
      headers: { "content-type": "text/plain; charset=utf-8", "x-proxy-error-source": "proxy" },
    },
  );
}

/** RFC 9110, section 13.1.2: the comparison is weak. */
function isKnown(ifNoneMatch: string | null, etag: string): boolean {
  if (ifNoneMatch === null) return false;
  return ifNoneMatch.split(",").some((part) => {
    const known = part.trim();
    return known === "*" || known.replace(/^W\//, "") === etag;
  });
}
