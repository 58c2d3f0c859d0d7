import type { ProxyError } from "#kernel/errors.ts";
import { PAGE_POLICY } from "./ui.ts";

/**
 * What a person reads whose sign-in failed: our own sentence and code, with the status and the headers of the envelope.
 * Nothing of the request or of the identity provider stands in it, and nothing that the page's policy refuses.
 */
export function toSignInErrorPage(error: ProxyError): Response {
  const page = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Sign-in failed</title></head>
<body>
<h1>You are not signed in</h1>
<p>${Bun.escapeHTML(error.message)}</p>
<p>Code: <code>${Bun.escapeHTML(error.code)}</code></p>
<p><a href="/auth/login">Sign in again</a> or <a href="/">go to the first page</a></p>
</body>
</html>
`;
  return new Response(page, {
    status: error.status,
    headers: {
      "content-type": "text/html; charset=utf-8",
      "content-security-policy": PAGE_POLICY,
      "x-frame-options": "DENY",
      "x-proxy-error-source": "proxy",
      "cache-control": "no-store",
    },
  });
}
