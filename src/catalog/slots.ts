/**
 * Leases the slots of `max_concurrency`. A process that is alone has all of them; several on one database share them, so
 * that no more requests are at a host than its limit says, whichever of them sent them.
 */
export interface SlotSource {
  /** The slots of one queue (provider id and upstream host), opened once. */
  open(queue: string, holder: SlotHolder): SlotLease;
}

/** The queue, as the source sees it: asked at any time. */
export interface SlotHolder {
  /** Requests that are at the host, and those that wait to go. */
  readonly inUse: number;
  readonly waiting: number;
  /** More may go than the last `allow` said. */
  advance(): void;
  /** The slots are another process's from now on: every request that is at the host has to end in this turn. */
  cut(): void;
}

/** The slots of one queue, as this process has them. */
export interface SlotLease {
  /**
   * The number of requests of this process that may be at the host at once, at most `limit`. Asked before a request goes and after one
   * has come back, so that a source leases what is wanted and returns what is not.
   */
  allow(limit: number): number;
}

/** All slots are this process's own. */
export const OWN_SLOTS: SlotSource = { open: () => ({ allow: (limit) => limit }) };
