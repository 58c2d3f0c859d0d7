import type { Clock } from "#kernel/clock.ts";

/** The other end of a connection, as far as the network tells. No header is believed: a client writes those. */
export interface Peer {
  /** For the log; `unknown` where there is no address. */
  readonly address: string;
  /**
   * The network that shares limits: an IPv4 address, or the /64 of an IPv6 address, of which one subscriber has 2^64 (RFC 6177). Behind
   * a reverse proxy all clients are one network.
   */
  readonly network: string;
}

const IPV6_GROUPS = 8;
const NETWORK_GROUPS = 4;

export function toPeer(address: string | null): Peer {
  if (address === null || address === "") return { address: "unknown", network: "unknown" };
  // A socket for both families tells IPv4 addresses as ::ffff:192.0.2.1 (RFC 4291, section 2.5.5.2).
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return { address: mapped, network: mapped };
  return { address, network: address.includes(":") ? toNetwork(address) : address };
}

function toNetwork(address: string): string {
  const [left = "", right = ""] = address.toLowerCase().split("::", 2);
  const before = left === "" ? [] : left.split(":");
  const after = right === "" ? [] : right.split(":");
  const zeros = Array.from({ length: Math.max(0, IPV6_GROUPS - before.length - after.length) }, () => "0");
  const groups = [...before, ...zeros, ...after].slice(0, NETWORK_GROUPS);
  return `${groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":")}::/64`;
}

/** Counts of this minute, by network. */
interface PeerCounts {
  /** Counts one more and returns how many there were of this network in this minute, this one included. */
  add(peer: Peer): number;
}

const MINUTE_MS = 60_000;
/** Networks that are told apart; those of others count together. */
const NETWORKS_MAX = 1000;
const OTHERS = "(others)";

export function createPeerCounts(clock: Pick<Clock, "monotonicMs">): PeerCounts {
  let counts = new Map<string, number>();
  let minuteSinceMs = clock.monotonicMs();
  return {
    add({ network }) {
      const nowMs = clock.monotonicMs();
      if (nowMs - minuteSinceMs >= MINUTE_MS) {
        counts = new Map();
        minuteSinceMs = nowMs;
      }
      const name = counts.has(network) || counts.size < NETWORKS_MAX ? network : OTHERS;
      const counted = (counts.get(name) ?? 0) + 1;
      counts.set(name, counted);
      return counted;
    },
  };
}
