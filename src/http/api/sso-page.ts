import type { ProxyError } from "#kernel/errors.ts";
import { toPagePolicy, type PagePlace } from "#http/page/page.ts";

/**
 * The page of a failed sign-in: our own sentence and code, with the status and the headers of the envelope.
 * Nothing of the request or of the identity provider stands in it, and nothing that the page's policy refuses. It can be
 * read without its style sheets, too.
 */
export function toSignInErrorPage(
  error: ProxyError,
  stylesheets: readonly string[],
  place: PagePlace,
): Response {
  const links = stylesheets.map((path) => `<link rel="stylesheet" href="${Bun.escapeHTML(path)}">`).join("");
  const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Sign-in failed</title>${links}</head>
<body>
<main class="mx-auto mt-16 max-w-lg space-y-4 p-6">
<h1 class="text-xl font-semibold">You are not signed in</h1>
<p>${Bun.escapeHTML(error.message)}</p>
<p>Code: <code>${Bun.escapeHTML(error.code)}</code></p>
<p><a class="underline" href="/auth/login">Sign in again</a> or <a class="underline" href="/">go to the first page</a></p>
</main>
</body>
</html>
`;
  return new Response(page, {
    status: error.status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": toPagePolicy(place),
      "x-frame-options": "DENY",
      "x-proxy-error-source": "proxy",
      "cache-control": "no-store",
    },
  });
}
