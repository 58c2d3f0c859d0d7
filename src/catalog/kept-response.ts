import type { InstantUs } from "#kernel/clock.ts";
import type { EventOrigin } from "#kernel/ids.ts";

/** The key of a kept response: an id that two principals were given is two entries. */
export interface ResponseKey {
  /** Keyed hash of its id (`SecretBox.hashResponseId`): the id itself is stored nowhere. */
  readonly idHash: string;
  readonly principalId: string;
}

/** The place of a response whose content its provider keeps, and the origin of the event of the request that it answered. */
export interface KeptResponse extends ResponseKey, EventOrigin {
  /** Internal id of the model that was asked for: a rename is followed. */
  readonly modelId: string;
  /** A model that moves leaves its responses where they are. */
  readonly providerId: string;
  /** False as long as the event may be pending. */
  readonly isSettled: boolean;
  readonly expiresAtUs: InstantUs;
}

/** The responses that callers may ask for by their ids, and nothing of their content. Asked for by the data plane alone. */
export interface ResponseStore {
  /**
   * Keeps them, each in place of a settled one with its key; one call has a key once. One that is not settled stays, since
   * nothing else finds its event: those that it kept out are returned. Fulfilled when all survive a kill and a loss of power.
   */
  keep(responses: readonly KeptResponse[]): Promise<readonly KeptResponse[]>;
  /** Finds the response of any of these hashes, which all stand for one id; also one that has expired. */
  find(idHashes: readonly string[], principalId: string): Promise<KeptResponse | null>;
  markSettled(key: ResponseKey): Promise<void>;
  remove(key: ResponseKey): Promise<void>;
  /** Removes settled ones whose time is over, at most so many; returns how many there were. */
  removeExpired(nowUs: InstantUs, rowsMax: number): Promise<number>;
  /** Lists responses not settled yet whose principal was deleted. */
  listOrphans(rowsMax: number): Promise<readonly KeptResponse[]>;
}

/** Expiry of a response whose principal is gone and whose event is to be settled: it is found no more. */
export const ORPHANED_AT_US = 0;
