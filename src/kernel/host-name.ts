/** True when the name of a host leads to an address, as this machine looks it up. An address does, and no name server is asked for it. */
export async function resolves(host: string): Promise<boolean> {
  // Not imported above: most processes ask for none.
  const { lookup } = process.getBuiltinModule("node:dns/promises");
  return await lookup(host).then(
    () => true,
    () => false,
  );
}

/** True when a host name or address, IPv6 with or without brackets, is this machine itself (RFC 6761, section 6.3; RFC 4291, sections 2.5.3 and 2.5.5.2). */
export function isLoopback(host: string): boolean {
  return (
    host === "localhost" ||
    host.endsWith(".localhost") ||
    /^127(\.[0-9]{1,3}){3}$/.test(host) ||
    /^\[?(?:::1|::ffff:127(?:\.[0-9]{1,3}){3}|::ffff:7f[0-9a-f]{2}:[0-9a-f]{1,4})\]?$/i.test(host)
  );
}
