/** Whether a host name or address, IPv6 with or without brackets, is this machine itself (RFC 6761, section 6.3; RFC 4291, section 2.5.3). */
export function isLoopback(host: string): boolean {
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    /^127(\.[0-9]{1,3}){3}$/.test(host) ||
    host === "::1" ||
    host === "[::1]"
  );
}
