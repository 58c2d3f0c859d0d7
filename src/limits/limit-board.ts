/**
 * What one process says of a limit of `concurrent`, or of one value of its `each`. One with nothing open and nothing wanted
 * says that it knows the limit.
 */
export interface OpenUse {
  readonly limitId: string;
  readonly value: string;
  readonly label: string;
  /** Requests under way. */
  readonly open: number;
  /** As many as it would have open: more than are open when it has refused some since it said so last. */
  readonly wanted: number;
}

/** Another process that serves. */
export interface Peer {
  readonly id: string;
  readonly uses: readonly OpenUse[];
}

export interface BoardAnswer {
  readonly ownId: string;
  /** All that live, also those that have said nothing yet: what was open at one that ended, or was given up, counts no more. */
  readonly peers: readonly Peer[];
  /** A number that is the same for all who ask at one time, and moves on: it says whose turn it is where fewer may begin than want to. */
  readonly turn: number;
}

/** Where processes that share limits tell each other what is under way. */
export interface LimitBoard {
  /** Says what this process has, in place of what it said last, and returns what the others have said. */
  exchange(own: readonly OpenUse[]): Promise<BoardAnswer>;
}
