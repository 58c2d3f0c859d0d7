import { NAME_LENGTH_MAX } from "#kernel/text.ts";
import type { Provider } from "./provider.ts";
import type { CatalogPicture } from "./snapshot.ts";

/** The provider that serves from this base URL: of several the first by name, an enabled one before those that are not. */
export function findProviderAt(current: CatalogPicture, baseUrl: string): Provider | null {
  const providers = current.providers.filter((provider) => provider.baseUrl === baseUrl);
  return providers.find(({ enabled }) => enabled) ?? providers[0] ?? null;
}

/**
 * A free name for a provider of this base URL (decisions, "Admin"): its host, `-8000` for a port that is not the scheme's,
 * and `-2`, `-3`, … while another provider has the name.
 */
export function toFreeProviderName(
  current: { findProvider(name: string): unknown },
  baseUrl: string,
): string {
  const name = toHostName(baseUrl);
  for (let number = 1; ; number += 1) {
    const suffix = number === 1 ? "" : `-${number}`;
    const candidate = name.slice(0, NAME_LENGTH_MAX - suffix.length) + suffix;
    if (current.findProvider(candidate) === null) return candidate;
  }
}

/** `[2001:db8::1]:8000` → `2001-db8--1-8000`; `[::1]` is `0--1`, since a name begins with a letter or digit. */
function toHostName(baseUrl: string): string {
  const { hostname, port } = new URL(baseUrl);
  // The URL parser has made the host lower case and ASCII; a few signs pass it that a name does not have.
  const host = hostname
    .replace(/^\[:/, "0:")
    .replaceAll(/[[\]]/g, "")
    .replaceAll(/[^a-z0-9._-]/g, "-");
  const suffix = port === "" ? "" : `-${port}`;
  const name = host.slice(0, NAME_LENGTH_MAX - suffix.length) + suffix;
  return /^[a-z0-9]/.test(name) ? name : `0${name}`.slice(0, NAME_LENGTH_MAX);
}
