/**
 * Lends the slots of `max_concurrency`. A process that is alone has all of them; several on one database share them, so
 * that no more requests are at a host than its limit says, whichever of them sent them.
 */
export interface SlotSource {
  /**
   * The slots of one queue (provider id and upstream host), opened once. `onLent` is called, in a turn of its own, when more of them
   * may be used than the last answer of `allow` said.
   */
  open(queue: string, onLent: () => void): SlotLoan;
}

export interface SlotLoan {
  /**
   * How many requests of this process may be at the host at once, at most `limit`. Asked before a request goes and after one has
   * come back, with how many are there and how many wait, so that a lender borrows what is wanted and returns what is not.
   */
  allow(limit: number, inUse: number, waiting: number): number;
}

/** All slots are this process's own. */
export const OWN_SLOTS: SlotSource = { open: () => ({ allow: (limit) => limit }) };
