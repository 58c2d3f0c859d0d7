import { ProxyError } from "#kernel/errors.ts";

/**
 * Keeps another site's page from acting with a browser's session (decisions, "Sign-in"): for mutations by session and for
 * the password form. `ownOrigin` is the public URL's origin, else `http://` and the Host header; `X-Forwarded-*` is never
 * looked at. Throws `cross_origin_rejected`. A request with neither header was not made by a browser's page and passes.
 */
export function checkOrigin(headers: Headers, ownOrigin: string): void {
  const fetchSite = headers.get("sec-fetch-site");
  if (fetchSite !== null && fetchSite !== "same-origin" && fetchSite !== "none") throw refuse();
  const origin = headers.get("origin");
  if (origin === null) return;
  // An unparsable own origin (a broken Host) equals nothing, rather than another unparsable one.
  const given = parseOrigin(origin);
  if (given === null || given !== parseOrigin(ownOrigin)) throw refuse();
}

/** Scheme, host and port in their one spelling; null for `null` and for whatever is no http(s) origin. */
function parseOrigin(text: string): string | null {
  const url = URL.parse(text);
  return url !== null && (url.protocol === "http:" || url.protocol === "https:") ? url.origin : null;
}

function refuse(): ProxyError {
  return new ProxyError("cross_origin_rejected", "This request comes from another origin.");
}
