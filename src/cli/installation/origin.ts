import type { Config } from "#boot/settings/config.ts";
import { formatAddress, toReachable } from "#boot/settings/listen-address.ts";
import { findServingAddress } from "#boot/folder/serving-address.ts";

/**
 * Where a browser on this machine finds the server of these settings: the public URL, else the address that it is bound
 * to. Null when the port is chosen at the start.
 */
export function findOrigin({
  publicUrl,
  ...address
}: Pick<Config, "publicUrl" | "host" | "port">): string | null {
  if (publicUrl !== null) return publicUrl;
  return address.port === 0 ? null : toReachable(`http://${formatAddress(address)}`);
}

/** Where a browser on this machine finds the server that runs from the data folder now; null when none is known to. */
export function findServingOrigin({ dataDir }: Config): string | null {
  const found = findServingAddress(dataDir);
  return found === null ? null : (found.publicUrl ?? toReachable(found.url));
}
