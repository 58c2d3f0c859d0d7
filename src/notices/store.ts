import type { InstantUs } from "#kernel/clock.ts";
import type { Pico } from "#kernel/units.ts";
import type { Notice } from "./notice.ts";

/** What a notice is sent once for, such as a window of a limit. */
export interface NoticeMark {
  readonly name: string;
  /** From then on it may be sent again. */
  readonly untilUs: InstantUs;
}

/** A notice with what keeps it from being sent twice. */
export interface Telling {
  readonly notice: Notice;
  /** It is told only while this is not set, and sets it. Null: it is always told. */
  readonly mark: NoticeMark | null;
  /** Set when it is told: what it makes superfluous. */
  readonly alsoMarks?: readonly NoticeMark[];
  /** The name of a mark that it takes away, and is told only while that is set: another replica may have told it. */
  readonly clears?: string;
}

export interface WaitingNotice {
  /** Its place. */
  readonly sequence: number;
  readonly notice: Notice;
}

/** An API key or a relay token that ends. */
export interface ExpiringSecret {
  readonly kind: "api_key" | "relay_token";
  readonly id: string;
  readonly label: string;
  readonly principalName: string;
  readonly expiresAtUs: InstantUs;
}

export interface ExpiryRange {
  readonly afterUs: InstantUs;
  readonly untilUs: InstantUs;
  /** Rows of each kind. */
  readonly rowsMax: number;
}

/** Which process sends a notice, where several have them: a claim ends by itself a minute after it was renewed last. */
export interface NoticeClaims {
  /** Renews the claims to `own`, and claims what nobody does; returns the latter, the oldest first. */
  take(own: readonly number[], nowUs: InstantUs): Promise<readonly WaitingNotice[]>;
  /** Another process may send them at once. */
  release(sequences: readonly number[]): Promise<void>;
}

/** Notices that wait, and what was told already. One method is one transaction; an own write looks to nobody like a change of the catalog. */
export interface NoticeStore {
  /** Puts those behind what waits that were not told already; returns these, in their order. They are this process's to send. */
  put(tellings: readonly Telling[], nowUs: InstantUs): Promise<readonly WaitingNotice[]>;
  /** The oldest first. */
  list(): Promise<readonly WaitingNotice[]>;
  /** Absent where no other process sends any. */
  readonly claims?: NoticeClaims;
  remove(sequences: readonly number[]): Promise<void>;
  /** Names of marks that begin so. */
  listMarks(prefix: string): Promise<readonly string[]>;
  /** Removes marks that have ended, and beyond `NOTICE_MARKS_MAX` those that end first. */
  sweepMarks(nowUs: InstantUs): Promise<void>;
  /** Keys and relay tokens that are not paused, of principals that are enabled: those that end first stand first. */
  listExpiring(range: ExpiryRange): Promise<readonly ExpiringSecret[]>;
}

/** Asks what an hour cost beside earlier ones. Hours are numbered from 1970 on, UTC. */
export interface SpendQuestion {
  readonly hour: number;
  readonly earlier: readonly number[];
  /** Subjects that cost less in the hour are left out. */
  readonly leastPico: Pico;
  /** The most expensive first. */
  readonly rowsMax: number;
}

/** What one principal, API key or tag cost in an hour; without what has no price. */
export interface HourSpend {
  readonly kind: "principal" | "key" | "tag";
  /** The id of a principal or a key; of a tag its pair. */
  readonly value: string;
  /** The name of the principal, or of the key's owner, as its usage has it; empty for a tag. */
  readonly principalName: string;
  readonly costPico: Pico;
  /** The cost of those earlier hours that the ledger knows, zero included. */
  readonly earlierPico: readonly Pico[];
}

/** Reads the ledger's totals, away from the thread that serves requests. */
export interface SpendLedger {
  readHourSpend(question: SpendQuestion): Promise<readonly HourSpend[]>;
}

/** A mark that is removed before its time may have its notice sent once more. */
export const NOTICE_MARKS_MAX = 100_000;
