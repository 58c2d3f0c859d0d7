/** The ledger's state at this moment, as seen from the thread that serves. Asking costs no disk and never fails. */
export interface LedgerGauges {
  /** Files of the data folder that were removed or replaced while the server had them open, since it started. */
  readonly filesLost: number;
  /** Files that were removed or replaced and are not back under their name. */
  readonly filesMissing: number;
  /** Bytes that wait in memory because the disk refuses them. */
  readonly journalPendingBytes: number;
  /** Bytes that the disk has promised to take: a megabyte at least, unless it is full. */
  readonly journalReservedBytes: number;
  /** Bytes of the journal that are not in the database yet, also of processes before this one. */
  readonly journalUncommittedBytes: number;
  /** False between a death of the writer and its restart. */
  readonly writerRunning: boolean;
  /** Batches committed since the process started. */
  readonly writerCommits: number;
  /** Events in them; those replayed for a process before this one count too. */
  readonly writerEvents: number;
  /** Attempts that failed since the process started: a lock that another process holds, a full disk. */
  readonly writerFailures: number;
  /** The time that the last batch took to be committed; 0 before the first. */
  readonly writerLastCommitMs: number;
  /** Questions that wait for the reader or are being answered. */
  readonly readerWaiting: number;
  /** Distinct combinations of everything an event can be filtered by, ever seen; 0 before the first batch. */
  readonly combinations: number;
}

/** The state of a server's database. */
export interface StorageHealth {
  /** False while requests are refused: the database has been away for longer than its grace, or has another secret key. */
  readonly isServing: boolean;
  /** Null where no database is shared with other processes. */
  readonly replica: ReplicaHealth | null;
}

/** One of several processes on one database. */
export interface ReplicaHealth {
  /** True when its last question to the database was answered. */
  readonly isDatabaseUp: boolean;
  /** For how long memory may still be believed without an answer; 0 when it may not. */
  readonly trustLeftSeconds: number;
  /** The time for which the last change of this process waited for the other replicas. */
  readonly barrierSeconds: number;
  readonly spool: {
    /** Recorded here and not in the database yet. */
    readonly bytes: number;
    /** How long its oldest line has been waiting; 0 when there is none. */
    readonly ageSeconds: number;
  };
  /** Slots of `max_concurrency` that this process holds, over all queues. */
  readonly slots: number;
}
