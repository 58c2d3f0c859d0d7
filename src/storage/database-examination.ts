import type { DatabaseAge } from "./place.ts";

/** What a look at the database of several replicas found. */
export interface DatabaseExamination {
  /** Such as `15.18`. */
  readonly version: string;
  readonly isEncrypted: boolean;
  /** It takes no changes. */
  readonly isStandby: boolean;
  /** The database's clock against this machine's; above zero where that is ahead. */
  readonly clockSkewMs: number;
  readonly schema: DatabaseAge;
  /** What serving needs and this role may not do, such as `INSERT on spool`. */
  readonly lackingRights: readonly string[];
  readonly replicas: readonly SilentReplica[];
  /** By the number of their lane. */
  readonly spools: readonly Silent[];
}

/** A replica or a spool that has not been heard of. */
export interface Silent {
  readonly name: string;
  /** Since it was heard of last. */
  readonly silentSeconds: number;
}

export interface SilentReplica extends Silent {
  /** Slots of `max_concurrency` that no other replica has meanwhile. */
  readonly slots: number;
}
