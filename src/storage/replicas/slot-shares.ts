/** A replica that borrows slots of a pool. */
export interface Borrower {
  readonly lent: number;
  readonly wanted: number;
  /** For how long it has none and wants some; 0 while it has one. */
  readonly starvedMs: number;
  /** False: it has not said lately what it wants, and holds what it has. */
  readonly isAsking: boolean;
}

/** What a replica asks for, in slots. */
export interface LoanRequest {
  readonly limit: number;
  /** What it has and does not give back. */
  readonly keep: number;
  /** What it could use. */
  readonly wanted: number;
  readonly starvedMs: number;
  /** False: it may not have more than it keeps. */
  readonly canGrow: boolean;
}

/** What it gets, in slots. */
export interface Loan {
  readonly lent: number;
  /** What is left to it while another has fewer than it wants, so that it gives back what is above; null: no other has. */
  readonly share: number | null;
}

/** How long a replica keeps its turn where there are fewer slots than replicas that want one. */
export const TURN_MS = 1_000;

/**
 * What a replica may have of a pool: never more than the others leave of its limit. As long as all have what they want it is
 * first come, first served; else what one wants above its share goes to those that have less than theirs.
 */
export function toLoan(request: LoanRequest, others: readonly Borrower[]): Loan {
  const { limit, keep, wanted, canGrow } = request;
  const lentToOthers = others.reduce((sum, { lent }) => sum + lent, 0);
  const asking = others.filter(({ isAsking }) => isAsking);
  const isShortElsewhere = asking.some((other) => other.wanted > other.lent);
  const held = others.reduce((sum, { lent, isAsking }) => sum + (isAsking ? 0 : lent), 0);
  const own = { lent: keep, wanted, starvedMs: request.starvedMs, isAsking: true };
  const share = isShortElsewhere ? toShare(Math.max(0, limit - held), own, asking) : null;
  const most = Math.min(wanted, share ?? wanted, limit - lentToOthers);
  return { lent: canGrow ? Math.max(keep, most) : keep, share };
}

/** The max-min fair share of whole slots: no replica has more than it wants while one that has fewer wants more. */
function toShare(slots: number, own: Borrower, others: readonly Borrower[]): number {
  const unserved = [own, ...others].toSorted((one, other) => one.wanted - other.wanted);
  let left = slots;
  while (unserved.length > 0) {
    const [first] = unserved;
    const even = Math.floor(left / unserved.length);
    if (first === undefined || first.wanted > even) break;
    if (first === own) return own.wanted;
    left -= first.wanted;
    unserved.shift();
  }
  const even = Math.floor(left / unserved.length);
  const extra = left - even * unserved.length;
  const turns = unserved.toSorted((one, other) => compareTurns(one, other, even));
  return turns.indexOf(own) < extra ? even + 1 : even;
}

/** Who gets the slots that are left over: who has starved for a turn, then who has one already, so that it stays there. */
function compareTurns(one: Borrower, other: Borrower, even: number): number {
  const rank = ({ lent, starvedMs }: Borrower) => (starvedMs >= TURN_MS ? 0 : lent > even ? 1 : 2);
  return rank(one) - rank(other) || other.starvedMs - one.starvedMs;
}
