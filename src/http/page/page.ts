import { Type } from "@sinclair/typebox";
import { route } from "#http/door/route.ts";
import type { PathIndex } from "#http/door/unknown-endpoint.ts";
import { ASSET_PREFIX, type AssetTable, toAssetAnswer, toAssetResponse } from "./assets.ts";
import { isLoopback } from "#kernel/host-name.ts";

/** Where browsers find this server. */
export interface PagePlace {
  /** The `Host` of the request for the page. */
  readonly host: string | null;
  /** An origin; null: plain HTTP. */
  readonly publicUrl: string | null;
}

/**
 * Hosts that a policy can name: no other IP address than this one (Content Security Policy Level 3, section 6.7.2.8), no underscore and
 * no final dot.
 */
const POLICY_HOST = /^(?:127\.0\.0\.1|(?![0-9.]+(?::|$))[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?)(?::[0-9]+)?$/i;

/**
 * The policy of the page: nothing inline, nothing foreign, no framing. Scripts and styles are files under `/assets/` alone, since
 * what is relayed has our origin, too; where the host cannot be named so, they are of our origin.
 */
export function toPagePolicy({ host, publicUrl }: PagePlace): string {
  const own = host !== null && POLICY_HOST.test(host) ? `${host}${ASSET_PREFIX}` : "'self'";
  const files = [...(publicUrl === null ? [] : [`${publicUrl}${ASSET_PREFIX}`]), own].join(" ");
  return `default-src 'none'; script-src ${files}; style-src ${files}; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'`;
}

/** The html, whichever page it is to show. */
export type Page = (request: Request) => Response;

export interface PageDeps {
  /** Null: the page was not built. */
  readonly assets: AssetTable | null;
  /** An origin; null: plain HTTP. */
  readonly publicUrl: string | null;
}

/** The page; where it was not built, a text that says how to build it and what can be done without it. */
export function createPage({ assets, publicUrl }: PageDeps): Page {
  const headers = {
    "x-frame-options": "DENY",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    // The html is asked for again each time: it names the files of the build that is served.
    "cache-control": "no-cache",
  };
  const isSecure = publicUrl?.startsWith("https:") === true;
  return (request) => {
    const policy = toPagePolicy({ host: request.headers.get("host"), publicUrl });
    const all = {
      "content-security-policy": policy,
      ...headers,
      ...((isSecure || isFromThisMachine(request)) && { "cross-origin-opener-policy": "same-origin" }),
    };
    if (assets !== null) return toAssetResponse(request, assets.getPage(), all);
    return new Response(PLAIN_PAGE, { headers: { ...all, "content-type": "text/html; charset=utf-8" } });
  };
}

/** Browsers ignore the opener policy of another machine over plain HTTP, and complain of it in the console. */
function isFromThisMachine(request: Request): boolean {
  const url = URL.parse(request.url);
  return url !== null && isLoopback(url.hostname);
}

const PLAIN_PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Lockport</title></head>
<body>
<h1>Lockport</h1>
<p>The server is running, from its source and without its web page: <code>npm start</code> builds the page first. Everything can also be done through the JSON endpoints:</p>
<ul>
<li><code>GET /v1/models</code>: the models that are served</li>
<li><code>POST /v1/chat/completions</code>, <code>/v1/completions</code>, <code>/v1/embeddings</code>: use them, with an API key</li>
<li><code>/my/keys</code>: your own API keys</li>
<li><code>/admin/v1/providers</code>, <code>models</code>, <code>principals</code>, <code>keys</code>, <code>resolve</code>, <code>requests</code>, <code>events</code>: administration</li>
<li><code>/model/new</code>, <code>info</code>, <code>delete</code>: model management for clients of LiteLLM</li>
<li><code>POST /auth/password</code>: sign in as the administrator</li>
<li><code>GET /healthz</code>, <code>GET /metrics</code>: operation</li>
</ul>
</body>
</html>
`;

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
