import { Elysia } from "elysia";
import type { Guard } from "./guard.ts";
import type { PathIndex } from "./unknown-endpoint.ts";

/** The policy of the page: nothing inline, nothing foreign, no framing. */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'";

const PAGE = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Lockport</title></head>
<body>
<h1>Lockport</h1>
<p>The server is running. The web page comes with a later version; everything can be done through the JSON endpoints:</p>
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

/** The page itself; also for a browser that navigates to `GET /models`. */
export function toPage(): Response {
  return new Response(PAGE, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": PAGE_POLICY,
      "x-frame-options": "DENY",
      "cache-control": "no-cache",
    },
  });
}

/** `GET /` and every GET path that nothing else serves (single-page fallback). `findPaths` is asked per request: it knows every route. */
export function uiRoutes(guard: Guard, findPaths: () => PathIndex) {
  return new Elysia().use(guard).get(
    "/*",
    ({ request }) => {
      const { pathname } = new URL(request.url);
      const paths = findPaths();
      if (!paths.isPagePath(pathname)) throw paths.toUnknownEndpoint(pathname);
      return toPage();
    },
    { public: true },
  );
}
