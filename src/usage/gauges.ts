/** How the ledger is doing at this moment, as seen from the thread that serves. Asking costs no disk and never fails. */
export interface LedgerGauges {
  /** Files of the data folder that were removed or replaced while the server had them open, since it started. */
  readonly filesLost: number;
  /** Files that were removed or replaced and are not back under their name. */
  readonly filesMissing: number;
  /** What waits in memory because the disk refuses it. */
  readonly journalPendingBytes: number;
  /** What the disk has promised to take: a megabyte at least, unless it is full. */
  readonly journalReservedBytes: number;
  /** What is in the journal and not yet in the database, also of processes before this one. */
  readonly journalUncommittedBytes: number;
  /** False between a death of the writer and its restart. */
  readonly writerRunning: boolean;
  /** Batches committed since the process started. */
  readonly writerCommits: number;
  /** Events in them; those replayed for a process before this one count too. */
  readonly writerEvents: number;
  /** Attempts that failed since the process started: a lock that another process holds, a full disk. */
  readonly writerFailures: number;
  /** How long the last batch took to be committed; 0 before the first. */
  readonly writerLastCommitMs: number;
  /** Questions that wait for the reader or are being answered. */
  readonly readerWaiting: number;
  /** Distinct combinations of everything an event can be filtered by, ever seen; 0 before the first batch. */
  readonly combinations: number;
}

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
