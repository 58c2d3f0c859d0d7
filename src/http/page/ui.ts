import { Type } from "@sinclair/typebox";
import { route } from "#http/door/route.ts";
import { ASSET_PREFIX, toAssetAnswer, type AssetTable } from "./assets.ts";
import type { Page } from "./page.ts";
import type { PathIndex } from "#http/door/unknown-endpoint.ts";

export interface UiDeps {
  /** Null: the page was not built. */
  readonly assets: AssetTable | null;
  readonly page: Page;
  /** A function, since the index knows every route and is made after them. */
  readonly findPaths: () => PathIndex;
}

/** `GET /`, the files under `/assets/`, and the page again at every GET path that nothing else serves (single-page fallback). */
export function uiRoutes({ assets, page, findPaths }: UiDeps) {
  return [
    route({
      method: "GET",
      path: "/*",
      tag: "Operation",
      access: "public",
      summary: "The web page",
      description:
        "Also at every other path outside of the interface's own, except under `/assets/`: there the page's own files lie, and one that does not exist is 404 as plain text.",
      answer: {
        status: 200,
        description: "The page.",
        contents: [{ type: "text/html", schema: Type.String() }],
      },
      errors: ["unknown_endpoint"],
      infallible: true,
      run: ({ request }) => {
        const { pathname } = new URL(request.url);
        if (pathname.startsWith(ASSET_PREFIX)) return toAssetAnswer(request, assets, pathname);
        const paths = findPaths();
        if (!paths.isPagePath(pathname)) throw paths.toUnknownEndpoint(pathname);
        return page(request);
      },
    }),
  ] as const;
}
