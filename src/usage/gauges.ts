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
