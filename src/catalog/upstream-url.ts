/** Longer than any real endpoint, short enough for every log and header limit upstream. */
export const UPSTREAM_URL_LENGTH_MAX = 2048;

/** The addresses at which clouds hand out machine credentials; nothing that serves models lives there. */
const METADATA_HOSTS: ReadonlySet<string> = new Set(["169.254.169.254", "[fd00:ec2::254]"]);
/** The IPv4 one inside an IPv6 address: mapped, compatible, translated or NAT64. */
const METADATA_EMBEDDED_PATTERN = /:a9fe:a9fe\]$/;

/** A scheme that `fetch` opens over the network, two slashes, and an authority without user info. */
const FULL_URL_PATTERN = /^https?:\/\/[^/?#@]+(?:[/?#]|$)/i;
/** The URL parser drops tabs and line breaks and turns backslashes into slashes: what is read is then not what is called. */
const AMBIGUOUS_PATTERN = /[\s\\\p{Cc}]/u;

export interface UpstreamUrlOptions {
  readonly allowQuery: boolean;
}

/**
 * A full http(s) URL in its one spelling (WHATWG URL: lower-case host, dotted IPv4, no default port), so that exactly the
 * host that is stored and shown is the one that is called. Null for anything else, and for a cloud metadata address in
 * any of its spellings. Private addresses are fine: local models are legitimate.
 */
export function parseUpstreamUrl(text: string, options: UpstreamUrlOptions): string | null {
  if (text.length > UPSTREAM_URL_LENGTH_MAX || AMBIGUOUS_PATTERN.test(text) || !FULL_URL_PATTERN.test(text))
    return null;
  if (text.includes("#") || (!options.allowQuery && text.includes("?"))) return null;
  const url = URL.parse(text);
  // Port 0 and a host of dots parse, and can never be connected to.
  if (url === null || url.port === "0" || url.hostname.replaceAll(".", "") === "") return null;
  const host = url.hostname;
  if (METADATA_HOSTS.has(host) || METADATA_EMBEDDED_PATTERN.test(host)) return null;
  return url.href;
}

/**
 * A provider's base URL (specification, section 2.3): a path is appended to it, so that a query or fragment has no place,
 * and trailing slashes are stripped. Null for what is none.
 */
export function toBaseUrl(text: string): string | null {
  return parseUpstreamUrl(text, { allowQuery: false })?.replace(/\/+$/, "") ?? null;
}

/** What looks wrong about a base URL, and how it would look right. */
export interface BaseUrlWarning {
  readonly text: string;
  readonly suggestion: string;
}

/** Some write the address of an endpoint, to which the endpoint's path would be added once more. */
const ENDPOINT_PATH = /\/(?:chat\/completions|completions|embeddings|models)$/u;
/** `/v1`, and the few that count on: `/v1beta/openai`, `/api/v3`. */
const VERSION_SEGMENT = /\/v\d+[a-z0-9]*(?:\/|$)/u;

/** Looks at a provider's base URL as it is stored; null when nothing looks wrong. */
export function findBaseUrlWarning(baseUrl: string): BaseUrlWarning | null {
  const { pathname } = new URL(baseUrl);
  const endpoint = ENDPOINT_PATH.exec(pathname)?.[0];
  if (endpoint !== undefined) {
    return {
      text: `${endpoint} is the path of an endpoint, which is added by itself`,
      suggestion: baseUrl.slice(0, -endpoint.length),
    };
  }
  if (VERSION_SEGMENT.test(pathname)) return null;
  return { text: "there is no /v1 at the end, which most servers expect", suggestion: `${baseUrl}/v1` };
}
