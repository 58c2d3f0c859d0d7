import { setImmediate } from "node:timers/promises";
import { createPeerCounts, type Peer } from "#identity/peer.ts";
import type { Clock, InstantUs } from "#kernel/clock.ts";
import type { ErrorCode } from "#kernel/errors.ts";
import type { Log } from "#kernel/log.ts";
import { sleep } from "#kernel/timer.ts";
import { type RefusedRow, REFUSALS_KEPT } from "#views/refusals.ts";

/** A refusal as it is kept. */
export interface Refusal extends RefusedRow {
  /** Tells the caller for good: another principal may have the name later. */
  readonly principalId: string | null;
}

/** Where refusals outlast the process. */
export interface RefusalStore {
  /** The refusals that were written last, the oldest first. Never throws. */
  read(): readonly Refusal[];
  /** Replaces what was written before. Never rejects. */
  write(refusals: readonly Refusal[]): Promise<void>;
}

/** The newest refusals, and how many there were of each code since the process started. */
export interface Refusals {
  /** Never throws. */
  add(refusal: Refusal, peer: Peer): void;
  /** The newest first, at most `REFUSALS_KEPT`; those of before a restart included. */
  newest(): readonly Refusal[];
  /** The count of those that were added since the process started. */
  added(): number;
  /** The one of this id, of one principal alone where there is one. */
  find(id: string, principalId: string | null): Refusal | null;
  /** The number of each code that there was. */
  counts(): ReadonlyMap<ErrorCode, number>;
  /** Since when is counted. */
  readonly startedAtUs: InstantUs;
  /** Writes down what has not been written yet. Never rejects. */
  close(): Promise<void>;
}

/** A refusal is in memory alone for so long: the first is written in the next turn, and a flood is one write in this time. */
const REFUSALS_WRITE_MS = 1_000;
/** Specification's amendments: more than these of one address in one minute are a warning. */
const WRONG_CREDENTIALS_MAX = 20;

/** A credential that is wrong wherever it is sent, and not only on the data plane. Sign-ins have warnings of their own. */
const WRONG_CREDENTIALS: ReadonlySet<ErrorCode> = new Set(["invalid_api_key", "unknown_relay_token"]);
const WRONG_SIGN_INS: ReadonlySet<ErrorCode> = new Set(["wrong_password", "invalid_login_link"]);

export function isWrongCredential(code: ErrorCode): boolean {
  return WRONG_CREDENTIALS.has(code) || WRONG_SIGN_INS.has(code);
}

/** Codes of refusals that come once the model was found. */
const WITH_KNOWN_MODEL: ReadonlySet<ErrorCode> = new Set(["endpoint_not_supported", "limit_exceeded"]);

/**
 * A refusal as it outlasts the process: without an unknown model, the message that names it, and a path, which may be anything
 * that was put there by mistake, content or a secret.
 */
function toWritten(refusal: Refusal): Refusal {
  const { code, endpoint } = refusal;
  return {
    ...refusal,
    ...(!WITH_KNOWN_MODEL.has(code) && { model: null }),
    ...(code === "model_not_found" && { message: null }),
    ...(endpoint?.startsWith("/") === true && { endpoint: null }),
  };
}

/** Without a store they are gone with the process. */
export function createRefusals(log: Log, clock: Clock, store: RefusalStore | null = null): Refusals {
  const added: Refusal[] = [];
  let addedCount = 0;
  const counts = new Map<ErrorCode, number>();
  const wrong = createPeerCounts(clock);
  // Read when it is asked for first: a start does not pay for it.
  let former: readonly Refusal[] | null = null;
  const listKept = () => {
    former ??= store?.read() ?? [];
    return [...former, ...added].slice(-REFUSALS_KEPT);
  };

  let isWritten = true;
  let writing: Promise<void> | null = null;
  const closing = new AbortController();
  const write = async () => {
    // No answer waits for a disk.
    await setImmediate();
    while (!isWritten) {
      isWritten = true;
      await store?.write(listKept().map(toWritten));
      await sleep(REFUSALS_WRITE_MS, closing.signal);
    }
    writing = null;
  };

  return {
    startedAtUs: clock.nowUs(),
    add(refusal, peer) {
      const { id, code, principal } = refusal;
      added.push(refusal);
      addedCount += 1;
      if (added.length > REFUSALS_KEPT) added.shift();
      counts.set(code, (counts.get(code) ?? 0) + 1);
      isWritten = store === null;
      if (!isWritten) writing ??= write();
      const { address } = peer;
      // Neither the model nor the path: a log is kept, and what was put there by mistake may be content or a secret.
      log.debug("a request was refused", { code, request_id: id, principal, address });
      if (WRONG_CREDENTIALS.has(code) && wrong.add(peer) === WRONG_CREDENTIALS_MAX + 1) {
        log.warn("many wrong credentials from one address", { code, address });
      }
    },
    newest: () => listKept().toReversed(),
    added: () => addedCount,
    find: (id, principalId) =>
      listKept().findLast(
        (refusal) => refusal.id === id && (principalId === null || refusal.principalId === principalId),
      ) ?? null,
    counts: () => counts,
    async close() {
      closing.abort();
      await writing;
    },
  };
}
