/** Longer than any real endpoint, short enough for every log and header limit upstream. */
export const UPSTREAM_URL_LENGTH_MAX = 2048;

/**
 * Where clouds hand out machine credentials and secrets of a machine's set-up; nothing that serves models lives there. By
 * their own documentation: AWS, Azure, Google, Oracle, DigitalOcean, OpenStack and others at 169.254.169.254 (Google's
 * names resolve to it), AWS also at fd00:ec2::254, with tasks' and pods' credentials at 169.254.170.2, 169.254.170.23 and
 * fd00:ec2::23; Google over IPv6 at fd20:ce::254; Alibaba at 100.100.100.200; Oracle Classic at 192.0.0.192; Azure's wire
 * server at 168.63.129.16; Scaleway at 169.254.42.42 and fd00:42::42; Tencent at 169.254.0.23; OpenStack over IPv6 at
 * fe80::a9fe:a9fe.
 */
const METADATA_IPV4: readonly string[] = [
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  "100.100.100.200",
  "192.0.0.192",
  "168.63.129.16",
  "169.254.42.42",
  "169.254.0.23",
];
const METADATA_HOSTS: ReadonlySet<string> = new Set([
  ...METADATA_IPV4,
  "[fd00:ec2::254]",
  "[fd00:ec2::23]",
  "[fd20:ce::254]",
  "[fd00:42::42]",
  "[fe80::a9fe:a9fe]",
  "metadata",
  "metadata.google.internal",
  "metadata.goog",
  "metadata.tencentyun.com",
  "instance-data",
  "instance-data.ec2.internal",
]);
/** The IPv4 ones as the last 32 bits of an IPv6 address: mapped, compatible, translated or NAT64. */
const METADATA_EMBEDDED: readonly string[] = METADATA_IPV4.map(toEmbedded);
/** 6to4 (RFC 3056) has the IPv4 address behind its prefix. */
const METADATA_6TO4: readonly string[] = METADATA_EMBEDDED.map((groups) => `[2002:${groups}:`);

/** A scheme that `fetch` opens over the network, two slashes, and an authority without user info. */
const FULL_URL_PATTERN = /^https?:\/\/[^/?#@]+(?:[/?#]|$)/i;
/** The URL parser drops tabs and line breaks and turns backslashes into slashes: what is read is then not what is called. */
const AMBIGUOUS_PATTERN = /[\s\\\p{Cc}]/u;

interface UpstreamUrlOptions {
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
  return isMetadataHost(url.hostname) ? null : url.href;
}

/** In the spelling of the URL parser: one for each address. A name may end in a dot, which means the same. */
function isMetadataHost(hostname: string): boolean {
  return (
    METADATA_HOSTS.has(hostname.replace(/\.$/, "")) ||
    METADATA_EMBEDDED.some((groups) => hostname.endsWith(`:${groups}]`)) ||
    METADATA_6TO4.some((prefix) => hostname.startsWith(prefix))
  );
}

/** Two groups of an IPv6 address, such as `a9fe:a9fe`. */
function toEmbedded(address: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = address.split(".").map(Number);
  return `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
}

/**
 * A provider's base URL (specification, section 2.3): a path is appended to it, so that a query or fragment has no place,
 * and trailing slashes are stripped. Null for what is none.
 */
export function toBaseUrl(text: string): string | null {
  return parseUpstreamUrl(text, { allowQuery: false })?.replace(/\/+$/, "") ?? null;
}

/** A mistake that a base URL seems to have, and the URL without it. */
interface BaseUrlWarning {
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
