/** How the database of a server is doing. */
export interface StorageHealth {
  /** False while requests are refused: the database has been away for longer than its grace, or has another secret key. */
  readonly isServing: boolean;
  /** Null where no database is shared with other processes. */
  readonly replica: ReplicaHealth | null;
}

/** One of several processes on one database. */
export interface ReplicaHealth {
  /** Whether its last question to the database was answered. */
  readonly isDatabaseUp: boolean;
  /** For how long memory may still be believed without an answer; 0 when it may not. */
  readonly trustLeftSeconds: number;
  /** How long the last change of this process waited for the other replicas. */
  readonly barrierSeconds: number;
  readonly spool: {
    /** What is recorded here and not in the database yet. */
    readonly bytes: number;
    /** How long its oldest line has been waiting; 0 when there is none. */
    readonly ageSeconds: number;
  };
  /** Slots of `max_concurrency` that this process holds, over all queues. */
  readonly slots: number;
}
