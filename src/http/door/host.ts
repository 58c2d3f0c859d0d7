import { ProxyError } from "#kernel/errors.ts";
import { isLoopback } from "#kernel/host-name.ts";

/** The settings that this room reads; the process's whole configuration fits. */
export interface HttpConfig {
  /** The address that the server is bound to. */
  readonly host: string;
  /** An origin without a path; null when none was set. */
  readonly publicUrl: string | null;
  /** Host names and addresses without a port, as they were set. */
  readonly allowedHosts: readonly string[];
  readonly maxBodyBytes: number;
  readonly adminPasswordEnabled: boolean;
}

/** Checks the Host of every request; cheap, since it stands before the data plane too. */
export interface HostRule {
  /**
   * Throws `invalid_host` when `Host` is not an authority (RFC 9110, section 7.2), and `host_not_allowed` when a browser
   * names a host that is not ours: a page whose name was rebound to this address would else be same-origin with us.
   * A server on loopback only refuses such a name to every client, since browsers do not mark each request of a page.
   * No `Host` at all passes: Bun refuses it on HTTP/1.1 itself, and health checks over HTTP/1.0 send none.
   */
  check(headers: Headers): void;
  /** Throws as `check` does, but lets a client that is no browser name any host: probes ask by the name of a pod or a service. */
  checkHealth(headers: Headers): void;
}

type Verdict = "own" | "foreign" | "invalid";

/** Names by which a client may call us are few; a client that sends many does not grow the memory. */
const REMEMBERED_HOSTS_MAX = 256;
/** 253 characters of a DNS name (RFC 1035), brackets or a final dot, and a port. */
const HOST_LENGTH_MAX = 261;
const AUTHORITY = /^(?:[A-Za-z0-9_][A-Za-z0-9._-]*|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?$/;
const IPV4 = /^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$/;
const WILDCARD_ADDRESSES: ReadonlySet<string> = new Set(["0.0.0.0", "[::]"]);

export function createHostRule(config: HttpConfig): HostRule {
  const boundName = toOwnName(config.host);
  const ownNames = new Set([boundName, ...config.allowedHosts.map(toOwnName)]);
  if (config.publicUrl !== null) ownNames.add(toOwnName(new URL(config.publicUrl).hostname));
  // Bound to every address, each IP literal may be ours; and a name that was rebound is never an IP literal.
  const anyAddress = WILDCARD_ADDRESSES.has(boundName);
  const verdicts = new Map<string, Verdict>();

  const judge = (host: string): Verdict => {
    const hostname = toHostname(host);
    if (hostname === null) return "invalid";
    const own = isLoopback(hostname) || ownNames.has(hostname) || (anyAddress && isIpLiteral(hostname));
    return own ? "own" : "foreign";
  };

  const refuse = (headers: Headers, whom: "browser" | "everyone"): void => {
    const host = headers.get("host");
    if (host === null) return;
    let verdict = verdicts.get(host);
    if (verdict === undefined) {
      verdict = judge(host);
      if (verdicts.size >= REMEMBERED_HOSTS_MAX) verdicts.clear();
      verdicts.set(host, verdict);
    }
    if (verdict === "own") return;
    if (verdict === "invalid") {
      throw new ProxyError("invalid_host", "The Host header is not a valid host name and port.");
    }
    if (whom === "everyone" || isFromBrowser(headers)) {
      throw new ProxyError("host_not_allowed", whom === "everyone" ? LOOPBACK_ONLY : BROWSER_ONLY);
    }
  };
  const whom = isLoopback(boundName) ? "everyone" : "browser";

  return {
    check: (headers) => refuse(headers, whom),
    checkHealth: (headers) => refuse(headers, "browser"),
  };
}

const LOOPBACK_ONLY =
  "This server listens on loopback only: use a loopback name, its public URL, or a name in PROXY_ALLOWED_HOSTS.";
const BROWSER_ONLY =
  "A browser may use this server only under its public URL, a loopback name, its own address, or a name in PROXY_ALLOWED_HOSTS.";

/** The lower-case host name without port and final dot, or null when `host` is not an authority. */
function toHostname(host: string): string | null {
  if (host.length > HOST_LENGTH_MAX || !AUTHORITY.test(host)) return null;
  // Refuses what the pattern lets through: ports above 65535, IPv6 that is none, numbers that are no IPv4.
  const url = URL.parse(`http://${host}/`);
  return url === null ? null : url.hostname.replace(/\.$/, "");
}

/** A name from the settings in the one spelling that the Host of a request has here; IPv6 with or without brackets. */
function toOwnName(name: string): string {
  return toHostname(name.includes(":") && !name.startsWith("[") ? `[${name}]` : name) ?? name;
}

function isIpLiteral(hostname: string): boolean {
  return hostname.startsWith("[") || IPV4.test(hostname);
}

/** Fetch metadata or an Origin: no other client sends them. */
function isFromBrowser(headers: Headers): boolean {
  return (
    headers.has("origin") ||
    headers.has("sec-fetch-site") ||
    headers.has("sec-fetch-mode") ||
    headers.has("sec-fetch-dest") ||
    headers.has("sec-fetch-user")
  );
}
