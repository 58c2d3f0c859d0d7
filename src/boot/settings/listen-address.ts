import type { SetupError } from "#kernel/errors.ts";
import { systemCode } from "#kernel/system-code.ts";

/** What a server binds to. */
export interface ListenAddress {
  /** A name or an IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
}

/** `127.0.0.1:4000`, `[::1]:4000`. */
export function formatAddress({ host, port }: ListenAddress): string {
  return `${host.includes(":") ? `[${host}]` : host}:${port}`;
}

/** A server that listens on every address is reached at one of them. */
export function toReachable(url: string): string {
  return url.replace("//0.0.0.0:", "//127.0.0.1:").replace("//[::]:", "//[::1]:");
}

/** Why no server can listen there, without a full stop, and what to do. */
export interface ListenFault {
  readonly kind: SetupError["kind"];
  readonly finding: string;
  readonly advice: string;
}

/** What the system's answer to listening means; null for one that is not known. */
export async function findListenFault(cause: unknown, address: ListenAddress): Promise<ListenFault | null> {
  // The runtime has no code for a name that does not resolve: it gives the one of whatever failed before.
  const code = (await resolves(address.host)) ? (systemCode(cause) ?? "") : "ENOTFOUND";
  const fault = FAULTS.find(({ codes }) => codes.includes(code));
  if (fault === undefined) return null;
  const { kind, say, advice } = fault;
  return { kind, finding: say(formatAddress(address)), advice };
}

async function resolves(host: string): Promise<boolean> {
  const { lookup } = process.getBuiltinModule("node:dns/promises");
  return await lookup(host).then(
    () => true,
    () => false,
  );
}

const FAULTS: readonly {
  readonly codes: readonly string[];
  readonly kind: SetupError["kind"];
  readonly say: (where: string) => string;
  readonly advice: string;
}[] = [
  {
    codes: ["EADDRINUSE"],
    kind: "configuration",
    say: (where) => `${where} is taken by another process`,
    advice: "Stop that process, or set PROXY_PORT to a free port.",
  },
  {
    codes: ["EADDRNOTAVAIL"],
    kind: "configuration",
    say: () => "PROXY_HOST is not an address of this machine",
    advice: "Set it to one, or to 127.0.0.1.",
  },
  {
    codes: ["EINVAL", "ENOTFOUND", "EAFNOSUPPORT"],
    kind: "configuration",
    say: () => "PROXY_HOST does not resolve to an address that this machine can listen on",
    advice: "Set it to one, or to 127.0.0.1.",
  },
  {
    codes: ["EACCES", "EPERM"],
    kind: "permission",
    say: (where) => `${where} is not open to this user for listening`,
    advice: "Set PROXY_PORT to a port above 1023.",
  },
];
