import { SetupError } from "#kernel/errors.ts";
import { resolves } from "#kernel/host-name.ts";
import { systemCode } from "#kernel/system-code.ts";

/** The address that a server binds to. */
interface ListenAddress {
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
interface ListenFault {
  readonly kind: SetupError["kind"];
  readonly finding: string;
  readonly advice: string;
}

/**
 * Throws a `SetupError` when the host is a name that does not resolve. Asked before anything else of a start: the runtime
 * has no code for it, and gives the one of whatever failed before.
 */
export async function requireResolvable(address: ListenAddress): Promise<void> {
  if (!(await resolves(address.host))) throw toListenError(toFault("ENOTFOUND", address));
}

/**
 * Why no server can listen there now; null when one can. Listens as the server does, for a moment, since the runtime tells a
 * server more than a bare socket; what connects meanwhile is told that nothing serves yet.
 */
export async function probeListen(address: ListenAddress): Promise<ListenFault | null> {
  const { host: hostname, port } = address;
  try {
    const fetch = () => new Response(null, { status: 503 });
    await Bun.serve({ hostname, port, reusePort: false, fetch }).stop(true);
    return null;
  } catch (cause) {
    return findListenFault(cause, address);
  }
}

/** The meaning of the system's answer to listening. */
export async function findListenFault(cause: unknown, address: ListenAddress): Promise<ListenFault> {
  return toFault((await resolves(address.host)) ? systemCode(cause) : "ENOTFOUND", address);
}

/** As the start tells it. */
export function toListenError({ kind, finding, advice }: ListenFault, cause?: unknown): SetupError {
  return new SetupError(kind, `${finding}. ${advice}`, cause);
}

function toFault(code: string | null, address: ListenAddress): ListenFault {
  const known = FAULTS.find(({ codes }) => codes.includes(code ?? ""));
  const { kind, say, advice } = known ?? FAULT_UNKNOWN;
  return { kind, finding: say(address, code), advice };
}

interface FaultRule {
  readonly kind: SetupError["kind"];
  readonly say: (address: ListenAddress, code: string | null) => string;
  readonly advice: string;
}

const CHOOSE_HOST =
  "Set --host or PROXY_HOST to 127.0.0.1 for this machine alone, to 0.0.0.0 for every network, or to one of its addresses.";

const FAULTS: readonly (FaultRule & { readonly codes: readonly string[] })[] = [
  {
    codes: ["EADDRINUSE"],
    kind: "configuration",
    say: (address) => `${formatAddress(address)} is taken by another process`,
    advice: "Stop that process, or choose a free port with --port or PROXY_PORT.",
  },
  {
    codes: ["EADDRNOTAVAIL"],
    kind: "configuration",
    say: ({ host }) => `${host} is not an address of this machine`,
    advice: CHOOSE_HOST,
  },
  {
    codes: ["ENOTFOUND"],
    kind: "configuration",
    say: ({ host }) => `The host ${host} does not resolve to an address`,
    advice: CHOOSE_HOST,
  },
  {
    codes: ["EINVAL", "EAFNOSUPPORT"],
    kind: "configuration",
    say: ({ host }) => `${host} is of a kind of address that this machine cannot listen on`,
    advice: CHOOSE_HOST,
  },
  {
    codes: ["EACCES", "EPERM"],
    kind: "permission",
    say: (address) => `This user may not listen on ${formatAddress(address)}`,
    advice: "Choose a port above 1023 with --port or PROXY_PORT, and let a reverse proxy have the other.",
  },
];

const FAULT_UNKNOWN: FaultRule = {
  kind: "configuration",
  say: (address, code) => `Nothing can listen on ${formatAddress(address)} (${code ?? "no reason given"})`,
  advice: "Choose others with --host and --port, or PROXY_HOST and PROXY_PORT.",
};
